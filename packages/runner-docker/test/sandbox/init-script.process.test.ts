import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { INIT_SCRIPT, toInitInput } from "../../src/sandbox/init-script.ts";

it.each([
  ["a live conversation", undefined, "live token\n"],
  ["an empty input", "", "1 token\n\n"],
  ["a line without an end", "one", "1 token\none\n"],
  ["a line with one", "one\n", "2 token\none\n\n"],
  ["several lines", "a\n\nb", "3 token\na\n\nb\n"],
  ["a carriage return", "a\r\nb", "2 token\na\r\nb\n"],
  ["an input that looks like the word", "live", "1 token\nlive\n"],
])("starts with the line for %s", (_, input, said) => {
  expect(toInitInput(input, "token")).toBe(said);
});

// The script kills every process it can reach, so it is only parsed here, and runs in containers only.
it("refuses to run if its parent is not the first process", () => {
  expect(INIT_SCRIPT.split("\n")[0]).toBe('[ "$PPID" = 1 ] || exit 125');
});

it("is valid in a POSIX shell", () => {
  expect(spawnSync("sh", ["-n", "-c", INIT_SCRIPT]).status).toBe(0);
});
