import { spawnSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { budgiePath, createBudgieUser, type BudgieUser } from "../helpers/start-budgie.ts";

/** Runs a script in a shell whose PATH has budgie, in the user's project. Returns the lines of stdout. */
function runShell(user: BudgieUser, argv: readonly [string, ...string[]]): readonly string[] {
  const bin = join(user.host.home, "bin");
  mkdirSync(bin, { recursive: true });
  symlinkSync(budgiePath, join(bin, "budgie"));
  const [shell, ...args] = argv;
  const env = { HOME: user.host.home, PATH: `${bin}:${dirname(process.execPath)}:/usr/bin:/bin`, TERM: "dumb" };
  const { stderr, stdout } = spawnSync(shell, args, { env, cwd: user.workspace, encoding: "utf8" });
  expect(stderr).toBe("");
  return stdout.split("\n").filter((word) => word !== "");
}

/** Completes the last word of a line in a bash that has the script of `budgie completion bash`. */
function completeInBash(user: BudgieUser, line: readonly string[]): readonly string[] {
  const words = line.map((word) => `'${word}'`).join(" ");
  const script = `
    source <(budgie completion bash)
    complete -p budgie >/dev/null || exit 1
    COMP_WORDS=(budgie ${words}); COMP_CWORD=${line.length}
    _budgie
    printf '%s\\n' "\${COMPREPLY[@]}"`;
  return runShell(user, ["bash", "--norc", "-c", script]);
}

describe("completion in bash", () => {
  it.each([
    [["do"], ["doctor"]],
    [["runs", "s"], ["show"]],
    [["install", "cu"], ["cursor"]],
    [
      ["egress", "explain", ""],
      ["code-reviewer", "reader", "shell-worker"],
    ],
    [["runs", "ls", "--agent", "re"], ["reader"]],
    [
      ["serve", "--agent"],
      ["--agents-dir", "--agent-timeout"],
    ],
    [["runs", "ls", "--last", ""], []],
    [
      ["serve", "--egress", ""],
      ["none", "allowlist", "open", "bridge"],
    ],
    [["serve", "--allow-preset", "np"], ["npm"]],
    [["run", "-C", "folder", "re"], ["reader"]],
    [["--agent-timeout", "5m", "egress", "explain", "re"], ["reader"]],
    [["run", "--agent-timeout=5m", "--verbose", "re"], ["reader"]],
  ])("of %j is %j", async (line, words) => {
    await using user = await createBudgieUser();

    expect(completeInBash(user, line)).toEqual(words);
  });
});

it("completion of ids has the agent, the outcome and the age of each", async () => {
  await using user = await createBudgieUser();
  const served = await user.start();
  const answer = await served.ask("reader", { prompt: "[[answer: done]]" });
  const { sessionId } = answer.structuredContent as { readonly sessionId: string };

  const [runs, sessions, live] = await Promise.all([
    user.command(["__complete", "--", "runs", "show", ""]),
    user.command(["__complete", "--", "sessions", "rm", ""]),
    user.command(["__complete", "--", "logs", ""]),
  ]);

  expect(runs.stdout).toMatch(/^[\da-f]{8}\treader, answered, \d+ s ago\n$/);
  expect(sessions.stdout).toMatch(new RegExp(`^${sessionId.slice(0, 8)}\treader, used \\d+ s ago\n$`));
  expect(live.stdout).toBe("");
});

// The typed line before a tab, and the line after it. The project has the file "doctrine.txt".
const TYPED = [
  ["budgie doct", "budgie doctor"],
  ["budgie install cu", "budgie install cursor"],
  ["budgie run -C . rea", "budgie run -C . reader"],
  ["budgie --conf", "budgie --config"],
  ["budgie --config doctr", "budgie --config doctrine.txt"],
] as const;

const [before, after] = [TYPED.map(([typed]) => typed), TYPED.map(([, whole]) => whole)];

function isInstalled(shell: string): boolean {
  return spawnSync(shell, ["-c", ":"]).error === undefined;
}

// A terminal in which a user types lines, and a key that prints each line after its completion.
const IN_ZSH = String.raw`
  zmodload zsh/zpty
  zpty terminal exec zsh -f -i
  zpty -w terminal 'autoload -Uz compinit; compinit -u -D; source <(budgie completion zsh)
    show() { print -r -- "@""@$BUFFER@""@"; BUFFER=; }; zle -N show; bindkey "^I" complete-word "^X" show'
  for line; do
    zpty -w -n terminal "$line"$'\t\x18'
    zpty -r terminal found '*@@*@@*'
    print -r -- "${"${${found%@@*}##*@@}"}"
  done`;

describe("completion", () => {
  it.skipIf(!isInstalled("zsh"))(
    "in zsh, where it is installed, completes commands, agents, options and files",
    async () => {
      await using user = await createBudgieUser();
      writeFileSync(join(user.workspace, "doctrine.txt"), "");

      const lines = runShell(user, ["zsh", "-f", "-c", IN_ZSH, "zsh", ...before]);

      expect(lines.map((line) => line.trimEnd())).toEqual(after);
    },
  );

  it.skipIf(!isInstalled("fish"))("in fish, where it is installed, completes the same", async () => {
    await using user = await createBudgieUser();
    writeFileSync(join(user.workspace, "doctrine.txt"), "");
    const script = "budgie completion fish | source; for line in $argv; complete -C $line; end";

    const words = runShell(user, ["fish", "--no-config", "-c", script, ...before]);

    expect(words.map((word) => word.split("\t")[0])).toEqual(after.map((line) => line.split(" ").at(-1)));
  });
});
