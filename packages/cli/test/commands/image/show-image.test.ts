import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createBudgieUser } from "../../helpers/start-budgie.ts";

describe("budgie image show", () => {
  it("prints what a project's files ask for, whole and harmless, and what of them does nothing or is refused", async () => {
    await using user = await createBudgieUser();
    mkdirSync(join(user.workspace, ".devcontainer"));
    writeFileSync(
      join(user.workspace, ".devcontainer/devcontainer.json"),
      `{ "build": { "dockerfile": "Dockerfile" }, "initializeCommand": "x", "runArgs": [] }`,
    );
    writeFileSync(join(user.workspace, ".devcontainer/Dockerfile"), "FROM a\nRUN --mount=type=ssh x\u001b[2J\n");

    const { exitCode, stdout } = await user.command(["image", "show", user.workspace]);

    expect(exitCode).toBe(0);
    expect(stdout).toContain(`The image of "${user.workspace}" is "budgie-sandbox:latest". The project's: refused: `);
    expect(stdout).toMatch(/^ {2}ignored +initializeCommand, runArgs$/m);
    expect(stdout).toMatch(/^ {2}refused +.*"RUN --mount=type=ssh" is not supported/m);
    expect(stdout).toContain("\n  FROM a\n  RUN --mount=type=ssh x?[2J\n");
  });

  it("offers a Dockerfile for the tools that a project without one asks for, and builds nothing", async () => {
    await using user = await createBudgieUser();
    writeFileSync(join(user.workspace, ".nvmrc"), "22\n");

    const { stdout } = await user.command(["image", "show", user.workspace]);

    expect(stdout).toContain(`is "budgie-sandbox:latest", as everywhere`);
    expect(stdout).toContain("\n  COPY --from=node:22-bookworm-slim /usr/local/ /usr/local/\n");
  });

  it("names the configuration's image, before which no file of the project counts", async () => {
    await using user = await createBudgieUser();
    const config = join(user.host.home, "budgie.json");
    writeFileSync(config, JSON.stringify({ workspaces: { [user.workspace]: { image: "shop:1" } } }));
    writeFileSync(join(user.workspace, "Dockerfile.sandbox"), "FROM a\n");

    const { stdout } = await user.command(["image", "show", user.workspace, "--json", "--config", config]);

    expect(JSON.parse(stdout)).toMatchObject({ configured: "shop:1", file: "Dockerfile.sandbox", refused: [] });
  });

  it("refuses what is no directory", async () => {
    await using user = await createBudgieUser();

    await expect(user.command(["image", "show", join(user.workspace, "missing")])).resolves.toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining("Cannot read the directory"),
    });
  });
});
