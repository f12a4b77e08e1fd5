import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { kiroCliPath } from "@budgie/testkit";
import { openEngine } from "../../helpers/engine.ts";
import { createBudgieUser, TEST_IMAGE, toEngineVariables, type BudgieUser } from "../../helpers/start-budgie.ts";

const LOCKED = `budgie-doctor-locked:${process.pid}`;
const UNPACKED = `budgie-doctor-unpacked:${process.pid}`;

const AS_V3 = "ENV FAKE_KIRO_PROFILE=v3\n";
// As budgie's own Dockerfile does.
const UNPACK = "ENV KIRO_RUNTIME_DIR=/opt/v3\nRUN kiro-cli --v3 chat --list-sessions && chmod -R a+rX /opt/v3\n";

beforeAll(async () => {
  await build(LOCKED, `FROM ${TEST_IMAGE}\n${AS_V3}`);
  await build(UNPACKED, `FROM ${LOCKED}\n${UNPACK}`);
});
afterAll(async () => {
  const docker = await openEngine();
  for (const image of [UNPACKED, LOCKED])
    await docker
      .getImage(image)
      .remove({ force: true })
      .catch(() => undefined);
});

async function build(tag: string, dockerfile: string): Promise<void> {
  await using user = await createBudgieUser();
  mkdirSync(join(user.workspace, "docker"));
  writeFileSync(join(user.workspace, "Dockerfile"), dockerfile);
  const argv = ["build-image", "--tag", tag, "--context", user.workspace];
  expect(await user.command(argv, toEngineVariables())).toMatchObject({ exitCode: 0, stderr: "" });
}

/** Writes the agents of a user who came from Kiro 2, and whose Kiro 3 has upgraded some of them; installs that Kiro. */
function moveToKiro3({ host }: BudgieUser): string {
  rmSync(host.agentsDir, { recursive: true });
  const permissions = { rules: [{ capability: "fs_read", effect: "allow" }] };
  const guard = [{ trigger: "PreToolUse", command: "guard.sh" }];
  const files = {
    "agents/two.json": toAgent("two", {}),
    "agents/half.json": toAgent("half", { permissions }),
    "agents/half.json.bak": toAgent("half", {}),
    "agents/lost.json.bak": toAgent("lost", {}),
    "agents/guarded.json": toAgent("guarded", { permissions, hooks: guard }),
    "agents/three.md": '---\ndescription: "sub-agent: Three"\n---\nYou plan.\n',
    "agents/team/planner.md": '---\ndescription: "sub-agent: Plans"\n---\nYou plan.\n',
    "bin/kiro-cli": `#!/bin/sh\nFAKE_KIRO_PROFILE=v3 exec "${kiroCliPath}" "$@"\n`,
  };
  mkdirSync(join(host.home, ".kiro/bin"), { recursive: true });
  mkdirSync(join(host.agentsDir, "team"), { recursive: true });
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(join(host.home, ".kiro", name), content, { mode: 0o755 });
  }
  return `${join(host.home, ".kiro/bin")}:${process.env["PATH"]}`;
}

function toAgent(name: string, rest: object): string {
  const tools = ["fs_read", "fs_write"];
  return JSON.stringify({ name, description: `sub-agent: ${name}`, tools, allowedTools: tools, ...rest });
}

/** Runs doctor, and returns its lines about Kiro and agents. */
async function examine(image: string, ...args: readonly string[]): Promise<readonly string[]> {
  await using user = await createBudgieUser();
  const env = { ...toEngineVariables(), PATH: moveToKiro3(user) };
  const { stdout } = await user.command(["doctor", "--sandbox", "--sandbox-image", image, ...args], env);
  const lines = stdout.replaceAll(user.host.home, "HOME").split("\n");
  return lines.filter((line) => /^\w+ +(?:kiro|agents) (?! *Answers are read)|^ {2}budgie/.test(line));
}

const AGENTS = 'ok      agents     guarded, half, three, two, team/planner, in "HOME/.kiro/agents"';
const FILES = [
  "ok      agents     Markdown, which V2 gets as JSON: three, team/planner",
  'ok      agents     upgraded by a later Kiro, so V2 gets a copy without "permissions": guarded, half (before: half.json.bak)',
];
const GUARDED =
  "agents     guarded needs V2: its hooks guard its tools (preToolUse), and nobody has seen such a hook block a tool there";
const LOST =
  'note    agents     "lost.json.bak" has no "lost.json" beside it, as after an interrupted upgrade of Kiro\'s';

describe("budgie doctor with a Kiro 3 here and agents of several versions", () => {
  it("compares it with an older one in the image, and says which agents need which", async () => {
    expect(await examine(TEST_IMAGE)).toEqual([
      "note    kiro       2.12.0 in the image (V2), 3.2.0 here (V2, V3): a new build would update the image",
      AGENTS,
      ...FILES,
      expect.stringContaining(`note    ${GUARDED}`),
      LOST,
    ]);
  });

  it("says what V3 in the image lacks, and what keeps agents from it", async () => {
    expect(await examine(LOCKED)).toEqual([
      "ok      kiro       3.2.0 in the image (V2, V3), 3.2.0 here (V2, V3)",
      expect.stringMatching(
        /^note {4}kiro {7}V3 does not run in the image: the image names no folder .*KIRO_RUNTIME_DIR$/,
      ),
      AGENTS,
      ...FILES,
      expect.stringContaining(`note    ${GUARDED}`),
      LOST,
    ]);
  });

  it("fails for both, where V3 is to run agents", async () => {
    const todo = (image: string) => `  budgie build-image    # then name budgie-sandbox:latest in place of ${image}`;

    expect(await examine(UNPACKED, "--kiro-harness", "v3")).toEqual([
      "ok      kiro       3.2.0 in the image (V2, V3), 3.2.0 here (V2, V3)",
      AGENTS,
      LOST,
      expect.stringContaining(`failed  ${GUARDED}`),
    ]);
    expect(await examine(TEST_IMAGE, "--kiro-harness", "v3")).toEqual([
      "note    kiro       2.12.0 in the image (V2), 3.2.0 here (V2, V3): a new build would update the image",
      AGENTS,
      LOST,
      "failed  kiro       V3 does not run in the image: its kiro-cli lists no such harness in its help",
      expect.stringContaining(`failed  ${GUARDED}`),
      todo(TEST_IMAGE),
    ]);
  });
});
