import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSessionId } from "@budgie/core";
import { buildSandboxImage } from "@budgie/runner-docker";
import { installKiroCli } from "@budgie/testkit";
import { buildImage, removeStages } from "./build-image.ts";
import { BASE_IMAGE, createDockerPlace, run, testEngine, type DockerPlace } from "../helpers/docker-place.ts";

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));
const RUNTIME = "/opt/agents/kiro/runtime";

let place: DockerPlace;
beforeAll(() => {
  place = createDockerPlace();
});
afterAll(() => place[Symbol.asyncDispose]());

type Install = (folder: string) => void | Promise<void>;

/** Installs a shell script as `kiro-cli`. */
function installScript(script: string): Install {
  return (folder) => {
    mkdirSync(join(folder, "bin"), { recursive: true });
    writeFileSync(join(folder, "bin/kiro-cli"), `#!/bin/sh\n${script}`, { mode: 0o755 });
  };
}

/** Builds budgie's own image with a `kiro-cli` of the build context, without a network. Disposing it removes the image. */
async function build(install: Install, base = BASE_IMAGE) {
  const contextDir = mkdtempSync(join(tmpdir(), "budgie-build-"));
  mkdirSync(join(contextDir, "docker"));
  copyFileSync(join(ROOT, "Dockerfile.sandbox"), join(contextDir, "Dockerfile.sandbox"));
  copyFileSync(join(ROOT, "docker/entrypoint.sh"), join(contextDir, "docker/entrypoint.sh"));
  await install(join(contextDir, "docker/kiro-cli"));
  const tag = `budgie-test-own:${process.pid}-${createSessionId().slice(0, 8)}`;
  const lines: string[] = [];
  try {
    const { failure } = await buildSandboxImage({
      tag,
      contextDir,
      dockerfile: "Dockerfile.sandbox",
      buildArgs: { BASE_IMAGE: base, KIRO_CLI: "context", TOOLS: "" },
      network: "none",
      home: process.env["HOME"] ?? "/root",
      hostEnv: process.env,
      onProgress: (line) => lines.push(line),
    });
    if (failure !== undefined) throw new Error(failure);
  } finally {
    rmSync(contextDir, { recursive: true });
  }
  return {
    notes: lines.filter((line) => line.startsWith("Note: ")),
    /** Runs a shell command in a sandbox of the image */
    async say(script: string) {
      const { runner } = await place.createRunner({ image: tag });
      const session = await runner.openSession(createSessionId());
      const { exit, stderr, stdout } = await run(session, place.workspace, script);
      return { said: stdout.trim().split("\n"), stderr, exitCode: exit.exitCode };
    },
    async [Symbol.asyncDispose]() {
      const docker = await testEngine();
      await docker.getImage(tag).remove({ force: true });
      await removeStages(lines.join("\n"));
    },
  };
}

// An archive may bring an owner along, and a mode that lets everyone write
const UNPACKING = `
[ "$*" = "--v3 chat --list-sessions" ] || exit 64
if ! [ -x "$KIRO_RUNTIME_DIR/node" ]; then
  printf '#!/bin/sh\\necho V3\\n' >"$KIRO_RUNTIME_DIR/node" || exit 1
  chown 1234:1234 "$KIRO_RUNTIME_DIR/node"
  chmod 777 "$KIRO_RUNTIME_DIR" "$KIRO_RUNTIME_DIR/node"
fi
exec "$KIRO_RUNTIME_DIR/node"
`;

describe("Dockerfile.sandbox", () => {
  it("puts kiro-cli on every PATH and unpacks V3, where no agent can write", async () => {
    await using image = await build(installScript(UNPACKING));

    const { said, stderr } = await image.say(`
      kiro-cli --v3 chat --list-sessions
      echo "$KIRO_RUNTIME_DIR"
      stat -c '%U:%G %A' "$KIRO_RUNTIME_DIR" "$KIRO_RUNTIME_DIR/node"
      echo "own" >"$KIRO_RUNTIME_DIR/node" || mv "$KIRO_RUNTIME_DIR/node" "$KIRO_RUNTIME_DIR/old" || echo "refused"
      find ~ -type f -perm /111
      command -v kiro-cli
      PATH=/usr/local/bin:/usr/bin:/bin
      command -v kiro-cli
    `);

    expect(said).toEqual([
      "V3",
      RUNTIME,
      "root:root drwxr-xr-x",
      "root:root -rwxr-xr-x",
      "refused",
      "/opt/agents/bin/kiro-cli",
      "/usr/local/bin/kiro-cli",
    ]);
    expect(stderr).toContain("Read-only file system");
    expect(image.notes).toEqual([]);
  });

  it("unpacks V3 of the stand-in, which then starts from there and leaves nothing in a session's home", async () => {
    await using base = await buildImage(`FROM ${BASE_IMAGE}\nENV FAKE_KIRO_PROFILE=v3\n`);
    await using image = await build(installKiroCli, base.name);

    const { exitCode, said } = await image.say(`
      find "$KIRO_RUNTIME_DIR" -type f -printf '%u %m %f\\n'
      kiro-cli --v3 chat --list-sessions >&2 && find ~ -name kas
    `);

    expect({ exitCode, said }).toEqual({ exitCode: 0, said: ["root 755 server"] });
    expect(image.notes).toEqual([]);
  });

  it("is built without V3 of a stand-in that has none", async () => {
    await using image = await build(installKiroCli);

    const { said } = await image.say('kiro-cli --version; test -e "$KIRO_RUNTIME_DIR" || echo "none"');

    expect(said).toEqual(["kiro-cli 2.12.0", "none"]);
    expect(image.notes).toEqual([expect.stringContaining("error: Unknown option")]);
  });

  it.each([
    ["unpacks a part", `echo half >"$KIRO_RUNTIME_DIR/node"; echo "disk is full"; exit 1`, "disk is full"],
    [
      "writes there at each start",
      `echo lock >"$KIRO_RUNTIME_DIR/lock"`,
      "cannot create /opt/agents/kiro/runtime/lock: Permission denied",
    ],
    [
      "unpacks into the home too",
      `touch "$KIRO_RUNTIME_DIR/node" 2>/dev/null; cp /bin/true "$HOME/node"`,
      "It went elsewhere.",
    ],
  ])("is built without V3 if kiro-cli %s, and says so", async (_, kiroCli, reason) => {
    await using image = await build(installScript(kiroCli));

    const { said } = await image.say('echo "$KIRO_RUNTIME_DIR"; test -e "$KIRO_RUNTIME_DIR" || echo "none"');

    expect(said).toEqual([RUNTIME, "none"]);
    expect(image.notes).toEqual([expect.stringMatching(/^Note: Kiro's V3 harness cannot run in this image: /)]);
    expect(image.notes[0]).toContain(reason);
  });
});
