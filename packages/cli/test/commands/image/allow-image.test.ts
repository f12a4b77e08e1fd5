import { describe, expect, it } from "vitest";
import { createProject } from "./create-project.ts";

describe("budgie image allow", () => {
  it("shows the Dockerfile whole and harmless, and what an image can do, before it asks", async () => {
    await using project = await createProject();
    project.write(".budgie/Dockerfile", "FROM a\nRUN ./setup.sh\n");
    project.write(".budgie/setup.sh", "true");

    const { exitCode, text } = await project.type(["image", "allow"]);

    expect(exitCode).toBe(0);
    expect(text).toContain("\n  FROM a\n  RUN ./setup.sh\n");
    expect(text).toContain(`The other file of ".budgie" can be part of it`);
    expect(text).toContain("it can read the login that an agent gets, and colour every answer");
    expect(text).toMatch(/Allow it until this changes\? \[y\/N\] Allowed\./);
  });

  it("counts for these files in this directory only", async () => {
    await using project = await createProject();
    const state = async () => (await project.type(["image", "show"])).text.split("\n")[0];
    project.write(".budgie/Dockerfile", "FROM a\n");
    const unknown = await state();
    await project.type(["image", "allow"]);
    const allowed = await state();
    project.write(".budgie/Dockerfile", "FROM b\n");
    const changed = await state();
    project.write(".budgie/Dockerfile", "FROM a\n");
    const again = await state();
    await project.type(["image", "deny"]);

    const says = (reason: string): string =>
      `The image of "${project.directory}" is "budgie-sandbox:latest". The project's: ${reason}.`;
    expect([unknown, allowed, changed, again, await state()]).toEqual([
      says("nobody has allowed it"),
      says("allowed, and not built"),
      says("changed since it was allowed"),
      says("allowed, and not built"),
      says("nobody has allowed it"),
    ]);
  });

  it("allows nothing without a yes, without a terminal, or of what budgie does not build", async () => {
    await using project = await createProject();
    project.write(".budgie/Dockerfile", "FROM a\n");

    expect(await project.type(["image", "allow"], "no")).toMatchObject({
      exitCode: 1,
      text: expect.stringContaining("Not allowed."),
    });
    expect(await project.user.command(["image", "allow", project.directory])).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining("Only a person can allow the image of a project"),
    });
    expect((await project.type(["image", "show"])).text).toContain("nobody has allowed it");
    project.write(".budgie/Dockerfile", "FROM a\nRUN --network=host true\n");
    expect((await project.type(["image", "allow"])).exitCode).toContain(`"RUN --network=host" is not supported`);
    project.remove(".budgie");
    expect((await project.type(["image", "allow"])).exitCode).toContain("asks for an image");
  });

  it("is needed before a build, and again after a change", async () => {
    await using project = await createProject();
    project.write(".budgie/Dockerfile", "FROM a\n");
    expect((await project.type(["image", "build"])).exitCode).toContain("nobody has allowed it");
    await project.type(["image", "allow"]);
    project.write(".budgie/other", "x");

    expect((await project.type(["image", "build"])).exitCode).toContain("it has changed since it was allowed");
  });
});
