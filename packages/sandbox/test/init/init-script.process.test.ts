import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { INIT_SCRIPT, buildInitInput } from "../../src/init/init-script.ts";

const COMMAND = { argv: ["agent", "--flag"] as const, env: {} };
const CODE = `set -- 'agent' '--flag'; with_variables() { "$@"; }`;

it.each([
  ["a live conversation", undefined, `live token\n${CODE}\n`],
  ["an empty input", "", `1 token\n${CODE}\n\n`],
  ["a line without an end", "one", `1 token\n${CODE}\none\n`],
  ["a line with one", "one\n", `2 token\n${CODE}\none\n\n`],
  ["several lines", "a\n\nb", `3 token\n${CODE}\na\n\nb\n`],
  ["a carriage return", "a\r\nb", `2 token\n${CODE}\na\r\nb\n`],
  ["an input that looks like the word", "live", `1 token\n${CODE}\nlive\n`],
])("starts with the lines for %s", (_, input, said) => {
  expect(buildInitInput(COMMAND, input, "token")).toBe(said);
});

it("puts arguments and variables of any characters into one line of code", () => {
  const argv = ["it's", "a\nb"] as const;
  const [, code, ...rest] = buildInitInput({ argv, env: { A: "$(id)", B_1: "'" } }, "", "token").split("\n");

  expect(code).toBe(
    String.raw`set -- 'it'\''s' 'a'"$budgie_newline"'b'; with_variables() { A='$(id)' B_1=''\''' "$@"; }`,
  );
  expect(rest).toEqual(["", ""]);
});

it.each(["LANG", "NO_PROXY"])("replaces a variable %s that the sandbox sets", (name) => {
  const [, code] = buildInitInput({ argv: ["printenv", name], env: { [name]: "the command's" } }, "", "token").split(
    "\n",
  );
  const env = { PATH: process.env["PATH"], [name]: "the sandbox's" };

  expect(spawnSync("sh", ["-c", `${code}; with_variables "$@"`], { env, encoding: "utf8" }).stdout).toBe(
    "the command's\n",
  );
});

it.each([
  ["a NUL character in an argument", { argv: ["agent", "a\0b"] as const, env: {} }],
  ["a NUL character in a variable", { argv: ["agent"] as const, env: { A: "\0" } }],
  ["a variable whose name is code", { argv: ["agent"] as const, env: { "A=1; id; B": "x" } }],
  ["a variable without a name", { argv: ["agent"] as const, env: { "": "x" } }],
])("refuses %s", (_, command) => {
  expect(() => buildInitInput(command, "", "token")).toThrow(expect.objectContaining({ code: "CONFIG_INVALID" }));
});

// The script kills every process it can reach, so it is only parsed here, and runs in containers only.
it("refuses to run if its parent is not the first process", () => {
  expect(INIT_SCRIPT.split("\n")[0]).toBe('[ "$PPID" = 1 ] || exit 125');
});

it("is valid in a POSIX shell", () => {
  expect(spawnSync("sh", ["-n", "-c", INIT_SCRIPT]).status).toBe(0);
});
