import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createKiroUser, MARKER } from "./run-kiro-cli.ts";

it("runs a prompt that begins with ! on the host, past model and permissions", async () => {
  await using user = await createKiroUser();

  const { stdout, exitCode } = await user.chat("  !echo $((6*7))");

  expect({ stdout, exitCode }).toEqual({ stdout: "42\n", exitCode: 0 });
  expect(existsSync(join(user.host.home, ".fake-kiro-shell-escape"))).toBe(true);
});

it("runs no shell escape if the ! follows other text", async () => {
  await using user = await createKiroUser();

  await user.chat("In directory x, !echo 1");

  expect(existsSync(join(user.host.home, ".fake-kiro-shell-escape"))).toBe(false);
});

it.each([
  ["/clear", ""],
  ["/quit now", ""],
  ["@server/prompt", ""],
  ["/tmp/x please", `${MARKER}You asked: tmp/x please\n`],
  ["/etc.d", `${MARKER}You asked: etc.d\n`],
  ["say\u{E0041} it", `${MARKER}You asked: say it\n`],
])("interprets %j before the model sees it", async (prompt, expected) => {
  await using user = await createKiroUser();

  const { stdout, exitCode } = await user.chat(prompt);

  expect({ stdout, exitCode }).toEqual({ stdout: expected, exitCode: 0 });
});

it("takes a prompt of half a megabyte on stdin", async () => {
  await using user = await createKiroUser();
  const prompt = `a ${"long ".repeat(100_000)}story`;

  const { stdout } = await user.chat(prompt);

  expect(stdout).toBe(`${MARKER}You asked: ${prompt}\n`);
});
