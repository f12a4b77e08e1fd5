import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { findImageSource, removeImageApproval, storeImageApproval } from "@budgie/sandbox/images";
import { provideImage } from "../../src/config/provide-image.ts";
import { createProject } from "../../../sandbox/test/images/create-project.ts";

const ID = `sha256:${"a".repeat(64)}`;

describe("the image of a turn", () => {
  it("is the project's while that is allowed, built and unchanged, and the result says why", () => {
    const { allow, directory, provide, stateDir, write } = setUp();
    const file = join(directory, ".budgie/Dockerfile");
    expect(provide().project).toBeUndefined();
    write(".budgie/Dockerfile", "FROM a\n");
    const unknown = provide();
    allow();
    const allowed = provide();
    allow(ID);
    const built = provide();
    write(".budgie/Dockerfile", "FROM a\nRUN evil\n");
    const changed = provide();
    write(".budgie/Dockerfile", "# syntax=evil\nFROM a\n");
    const refused = provide();
    removeImageApproval(directory, { stateDir });

    const isDefault = (reason: string) => ({ env: {}, project: { used: "default", reason, file } });
    expect(unknown).toEqual(isDefault("nobody has allowed it"));
    expect(allowed).toEqual(isDefault("allowed, and not built"));
    expect(built).toMatchObject({ image: ID, project: { used: "project", reason: "allowed", file, id: ID } });
    expect(changed).toEqual(isDefault("changed since it was allowed"));
    expect(refused).toEqual(isDefault("changed since it was allowed"));
    expect(provide().project?.reason).toContain("refused: ");
  });

  it("is that of the allowed directory above, unless the directory asks for one too", () => {
    const { allow, directory, provide, write } = setUp();
    write(".budgie/Dockerfile", "FROM a\n");
    allow(ID);
    mkdirSync(join(directory, "src"));
    const below = provide({}, join(directory, "src"));
    write("src/Dockerfile.sandbox", "FROM b\n");

    expect(below.image).toBe(ID);
    expect(provide({}, join(directory, "src"))).toMatchObject({ project: { reason: "nobody has allowed it" } });
    expect(provide({}, `${directory}-other`).project).toBeUndefined();
  });

  it("comes with no more than an access token, unless the user chose the credentials", () => {
    const { allow, provide, write } = setUp();
    write(".budgie/Dockerfile", "FROM a\n");
    allow(ID);

    expect(provide({ isShortProjectLogin: true })).toMatchObject({ isShortLogin: true, withheld: ["KIRO_API_KEY"] });
    expect(provide({ isShortProjectLogin: false })).toMatchObject({ isShortLogin: false, withheld: [] });
  });

  it("is the one of the user's settings before all, and no project's without a sandbox", () => {
    const { allow, directory, provide, stateDir, write } = setUp();
    write(".budgie/Dockerfile", "FROM a\n");
    allow(ID);

    expect(provideImage({ env: {}, image: "mine" }, directory, { sandbox: true, stateDir, workspaces: [] })).toEqual({
      env: {},
      image: "mine",
    });
    expect(provide({ sandbox: false })).toEqual({ env: {} });
  });

  it("is not the project's on a cluster, and the result says why", () => {
    const { allow, provide, write } = setUp();
    write(".budgie/Dockerfile", "FROM a\n");
    allow(ID);

    const { image, project } = provide({ cluster: {} as never });

    expect(image).toBeUndefined();
    expect(project).toMatchObject({ used: "default", reason: "is on this machine's engine, and not on the cluster" });
  });

  it("that is required and not there fails the call, and names the way", () => {
    const { allow, directory, provide, write } = setUp();
    const workspaces = [{ directory, requireImage: true } as never];
    const fails = (why: string) =>
      expect(() => provide({ workspaces })).toThrow(
        expect.objectContaining({ code: "IMAGE_NOT_FOUND", message: expect.stringContaining(why) }),
      );

    fails("no file there asks for one");
    write(".budgie/Dockerfile", "FROM a\n");
    fails("nobody has allowed it");
    allow(ID);
    expect(provide({ workspaces }).image).toBe(ID);
    write(".budgie/more", "");
    fails("changed since it was allowed");
  });
});

function setUp() {
  const project = createProject();
  const { directory } = project;
  const stateDir = mkdtempSync(join(tmpdir(), "budgie-state-"));
  onTestFinished(() => rmSync(stateDir, { recursive: true }));
  return {
    ...project,
    stateDir,
    allow: (imageId?: string): void => {
      const key = findImageSource(directory)?.key ?? "";
      storeImageApproval({ directory, key, imageId }, { stateDir });
    },
    provide: (config: Partial<Parameters<typeof provideImage>[2]> = {}, where = directory) =>
      provideImage({ env: {} }, where, { sandbox: true, stateDir, workspaces: [], ...config }),
  };
}
