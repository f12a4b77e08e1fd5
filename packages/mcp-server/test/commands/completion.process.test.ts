import { spawnSync } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { budgiePath, createBudgieUser, type BudgieUser } from "../helpers/start-budgie.ts";

/** Completes the last word of a line in a bash that has the script of `budgie completion bash`. */
function completeInBash(user: BudgieUser, line: readonly string[]): readonly string[] {
  const bin = join(user.host.home, "bin");
  mkdirSync(bin, { recursive: true });
  symlinkSync(budgiePath, join(bin, "budgie"));
  const words = line.map((word) => `'${word}'`).join(" ");
  const script = `
    source <(budgie completion bash)
    complete -p budgie >/dev/null || exit 1
    COMP_WORDS=(budgie ${words}); COMP_CWORD=${line.length}
    _budgie
    printf '%s\\n' "\${COMPREPLY[@]}"`;
  const env = { HOME: user.host.home, PATH: `${bin}:${dirname(process.execPath)}:/usr/bin:/bin` };
  const { stderr, stdout } = spawnSync("bash", ["--norc", "-c", script], { env, encoding: "utf8" });
  expect(stderr).toBe("");
  return stdout.split("\n").filter((word) => word !== "");
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
  ])("of %j is %j", async (line, words) => {
    await using user = await createBudgieUser();

    expect(completeInBash(user, line)).toEqual(words);
  });
});
