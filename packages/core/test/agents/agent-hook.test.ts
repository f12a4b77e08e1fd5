import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findSilencedHooks, listHooks, listHideableHooks } from "../../src/agents/agent-hook.ts";
import { createTemporaryFolder } from "../helpers/temporary-folder.ts";

const GUARD = { trigger: "preToolUse", command: "bash .kiro/hooks/guard.sh" };
const SPAWN = { trigger: "agentSpawn", command: "cat .kiro/settings/notes" };

function createRepository(...folders: readonly string[]): string {
  const folder = createTemporaryFolder();
  for (const name of folders) mkdirSync(join(folder, name), { recursive: true });
  return folder;
}

describe("listHooks", () => {
  it("lists the commands of every trigger", () => {
    const hooks = {
      preToolUse: [{ matcher: "fs_write", command: GUARD.command }],
      agentSpawn: [{ command: SPAWN.command, timeout_ms: 1 }],
    };

    expect(listHooks(hooks)).toEqual([GUARD, SPAWN]);
  });

  it("lists the commands of hooks that name their trigger, as Kiro writes them since 2.37", () => {
    const hooks = [
      { trigger: "PreToolUse", matcher: "fs_write", command: GUARD.command },
      { name: "context", trigger: "agentSpawn", action: { type: "command", command: SPAWN.command }, enabled: true },
      { trigger: "agentSpawn", action: { type: "agent", prompt: "Review." } },
      { command: "no trigger" },
      null,
    ];

    expect(listHooks(hooks)).toEqual([{ ...GUARD, trigger: "PreToolUse" }, SPAWN]);
  });

  it("lists the commands of nested hooks, as Claude Code has them", () => {
    const hooks = { PreToolUse: [{ matcher: "Edit", hooks: [{ type: "command", command: GUARD.command }] }] };

    expect(listHooks(hooks)).toEqual([{ ...GUARD, trigger: "PreToolUse" }]);
  });

  it("leaves out hooks that are not enabled", () => {
    const off = { command: GUARD.command, enabled: false };

    expect(listHooks({ preToolUse: [off] })).toEqual([]);
    expect(listHooks([{ ...off, trigger: "preToolUse" }])).toEqual([]);
  });

  it.each([
    [undefined],
    [null],
    ["text"],
    [[]],
    [{ preToolUse: { command: "x" } }],
    [["text", 1]],
    [{ preToolUse: "text" }],
    [{ preToolUse: [null, { command: 1 }] }],
  ])("finds none in %j, which only Kiro can judge", (hooks) => {
    expect(listHooks(hooks)).toEqual([]);
  });
});

describe("listHideableHooks", () => {
  it("names those that a sandbox can hide, for any repository", () => {
    const shown = { trigger: "preToolUse", command: "scripts/guard.sh" };

    expect(listHideableHooks([SPAWN, shown, GUARD])).toEqual([
      'guard hook "bash .kiro/hooks/guard.sh" (preToolUse)',
      'hook "cat .kiro/settings/notes" (agentSpawn)',
    ]);
  });
});

describe("findSilencedHooks", () => {
  it.each(["preToolUse", "PreToolUse", "pre_tool_use"])(
    "warns of a guard in a list of hooks with the trigger %s",
    async (trigger) => {
      const hooks = listHooks([{ trigger, action: { command: ".kiro/workflows/guard.sh" } }]);

      expect(await findSilencedHooks(hooks, createRepository(".kiro/workflows"))).toEqual([
        expect.stringContaining(`The guard hook ".kiro/workflows/guard.sh" (${trigger}) did not run`),
      ]);
    },
  );

  it.each([["cd .kiro/hooks && ./guard.sh"], ['"$PWD/.kiro/hooks"/guard.sh'], ["sh .kiro//hooks/guard.sh"]])(
    "recognises a guard that begins as %s",
    async (command) => {
      const repository = createRepository(".kiro/hooks");

      expect(await findSilencedHooks([{ ...GUARD, command }], repository)).toHaveLength(1);
      expect(await findSilencedHooks([{ ...GUARD, command: "cat .kiro/hooks.md" }], repository)).toEqual([]);
    },
  );

  it("warns that a guard did not run, and what that means", async () => {
    const repository = createRepository(".kiro/hooks");

    expect(await findSilencedHooks([GUARD], repository)).toEqual([
      'The guard hook "bash .kiro/hooks/guard.sh" (preToolUse) did not run, since a sandbox hides ".kiro/hooks" of the repository; ' +
        "Kiro allows a tool whose guard it cannot find. Keep it elsewhere, such as in the sandbox's image.",
    ]);
  });

  it("names guards first, and finds them by any path to the repository", async () => {
    const repository = createRepository(".kiro/hooks", ".kiro/settings");
    const absolute = { trigger: "preToolUse", command: `python3 "$PWD/.kiro/hooks/guard.py"` };

    const warnings = await findSilencedHooks([SPAWN, absolute], repository);

    expect(warnings).toEqual([
      expect.stringContaining(`The guard hook "python3 \\"$PWD/.kiro/hooks/guard.py\\"" (preToolUse) did not run`),
      expect.stringContaining('The hook "cat .kiro/settings/notes" (agentSpawn) did not run'),
    ]);
  });

  it.each(["~/", "$HOME/", "${HOME}/"])("names those of %s.kiro/hooks, which no sandbox has", async (home) => {
    const guard = { trigger: "preToolUse", command: `${home}.kiro/hooks/guard.sh` };

    const warnings = await findSilencedHooks([guard], createRepository());

    expect(warnings).toEqual([expect.stringContaining('did not run, since a sandbox shows no "~/.kiro/hooks"')]);
  });

  it("ignores hooks that a sandbox does not hide, and a repository without hooks", async () => {
    const shown = { trigger: "preToolUse", command: "scripts/guard.sh .kiro/steering/rules.md" };

    expect(await findSilencedHooks([shown], createRepository(".kiro/hooks"))).toEqual([]);
    expect(await findSilencedHooks([GUARD, SPAWN], createRepository(".kiro/steering"))).toEqual([]);
  });

  it("limits the length of the warning, and removes invisible characters", async () => {
    const hooks = Array.from({ length: 100 }, (_, index) => ({
      trigger: "preToolUse",
      command: `.kiro/hooks/${index}\u001B[31m\u202E\n${"x".repeat(100_000)}`,
    }));

    const warnings = await findSilencedHooks(hooks, createRepository(".kiro/hooks"));

    expect(warnings).toHaveLength(11);
    expect(warnings.at(-1)).toBe("90 more of the agent's hooks did not run either.");
    expect(warnings.join("")).not.toMatch(/[\p{Control}\u202E]/u);
    expect(Math.max(...warnings.map(({ length }) => length))).toBeLessThan(500);
  });
});
