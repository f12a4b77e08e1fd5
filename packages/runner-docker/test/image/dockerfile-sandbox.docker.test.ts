import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSessionId } from "@budgie/core";
import { buildSandboxImage } from "@budgie/runner-docker";
import { BASE_IMAGE, createDockerPlace, run, testEngine, type DockerPlace } from "../helpers/docker-place.ts";

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));
const RUNTIME = "/opt/agents/kiro/runtime";

let place: DockerPlace;
beforeAll(() => {
  place = createDockerPlace();
});
afterAll(() => place[Symbol.asyncDispose]());

/** Builds budgie's own image with a `kiro-cli` of the build context, without a network. Disposing it removes the image. */
async function build(kiroCli: string) {
  const contextDir = mkdtempSync(join(tmpdir(), "budgie-build-"));
  const programs = join(contextDir, "docker/kiro-cli/bin");
  mkdirSync(programs, { recursive: true });
  copyFileSync(join(ROOT, "Dockerfile.sandbox"), join(contextDir, "Dockerfile.sandbox"));
  copyFileSync(join(ROOT, "docker/entrypoint.sh"), join(contextDir, "docker/entrypoint.sh"));
  writeFileSync(join(programs, "kiro-cli"), `#!/bin/sh\n${kiroCli}`);
  chmodSync(join(programs, "kiro-cli"), 0o755);
  const tag = `budgie-test-own:${process.pid}-${createSessionId().slice(0, 8)}`;
  const lines: string[] = [];
  try {
    const { failure } = await buildSandboxImage({
      tag,
      contextDir,
      dockerfile: "Dockerfile.sandbox",
      buildArgs: { BASE_IMAGE, KIRO_CLI: "context", TOOLS: "" },
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
      await (await testEngine()).getImage(tag).remove({ force: true });
    },
  };
}

// What an archive may bring along: an owner, and a mode that lets everyone write
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
    await using image = await build(UNPACKING);

    const { said, stderr } = await image.say(`
      kiro-cli --v3 chat --list-sessions
      echo "$KIRO_RUNTIME_DIR"
      stat -c '%U:%G %A' "$KIRO_RUNTIME_DIR" "$KIRO_RUNTIME_DIR/node"
      echo "own" >"$KIRO_RUNTIME_DIR/node" || mv "$KIRO_RUNTIME_DIR/node" "$KIRO_RUNTIME_DIR/old" || echo "refused"
      find ~ -type f
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

  it.each([
    ["knows no V3", `echo "unexpected argument '--v3'" >&2; exit 2`, "unexpected argument '--v3'"],
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
    await using image = await build(kiroCli);

    const { said } = await image.say('echo "$KIRO_RUNTIME_DIR"; test -e "$KIRO_RUNTIME_DIR" || echo "none"');

    expect(said).toEqual([RUNTIME, "none"]);
    expect(image.notes).toEqual([expect.stringMatching(/^Note: Kiro's V3 harness cannot run in this image: /)]);
    expect(image.notes[0]).toContain(reason);
  });
});
