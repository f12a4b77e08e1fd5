import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createKiroUser, MARKER } from "./run-kiro-cli.ts";

it("answers in V2's text form, and ends with its credits line", async () => {
  await using user = await createKiroUser();

  const { stdout, stderr, exitCode } = await user.chat("[[say: one\ntwo]]", {
    argv: ["--agent", "reader", "--model", "claude-opus-4"],
  });

  expect({ stdout, exitCode }).toEqual({ stdout: `${MARKER}one\ntwo\n`, exitCode: 0 });
  expect(stderr).toBe("🤖 You are chatting with claude-opus-4\n\n\n ▸ Credits: 0.01 • Time: 1s\n");
});

it("has another marker and no credits line on the first engine", async () => {
  await using user = await createKiroUser();

  const { stdout, stderr } = await user.chat("[[say: one]]", { profile: "q1" });

  expect(stdout).toBe("\u001B[38;5;10m> \u001B[0mone\n");
  expect(stderr).not.toContain("Credits");
});

it("takes a prompt that begins with a dash behind --, and half a megabyte on stdin", async () => {
  await using user = await createKiroUser();
  const prompt = `a ${"long ".repeat(100_000)}story`;

  const dashed = await user.chat("", { argv: ["--", "-x"] });
  const long = await user.chat(prompt);

  expect(dashed.stdout).toBe(`${MARKER}You asked: -x\n`);
  expect(long.stdout).toBe(`${MARKER}You asked: ${prompt}\n`);
});

it("refuses to chat without a prompt", async () => {
  await using user = await createKiroUser();

  const { stderr, exitCode } = await user.chat(" \n");

  expect(exitCode).toBe(1);
  expect(stderr).toContain("Input must be supplied when running in non-interactive mode");
});

it("runs a prompt that begins with ! on the host, past model and permissions", async () => {
  await using user = await createKiroUser();

  const { stdout, exitCode } = await user.chat("  !echo $((6*7))");

  expect({ stdout, exitCode }).toEqual({ stdout: "42\n", exitCode: 0 });
  expect(existsSync(join(user.host.home, ".fake-kiro-shell-escape"))).toBe(true);
});

it.each(["/clear", "@server/prompt"])("interprets %j before the model sees it", async (prompt) => {
  await using user = await createKiroUser();

  expect(await user.chat(prompt)).toMatchObject({ stdout: "", exitCode: 0 });
});

it("refuses an unknown model", async () => {
  await using user = await createKiroUser();

  const { stderr, exitCode } = await user.chat("hi", { argv: ["--model", "bogus"] });

  expect(exitCode).toBe(1);
  expect(stderr).toContain("Model 'bogus' does not exist. Available models: auto, claude");
});

it("records every call", async () => {
  await using user = await createKiroUser();
  const log = join(user.host.home, "log.jsonl");

  await user.chat("one", { env: { FAKE_KIRO_LOG: log, KIRO_X: "y", OTHER: "z" } });
  await user.chat("", { argv: ["two"], env: { FAKE_KIRO_LOG: log } });

  const [first, second] = (await readFile(log, "utf8"))
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(first).toMatchObject({
    argv: ["chat", "--no-interactive"],
    cwd: user.work,
    stdin: "one",
    env: { KIRO_X: "y" },
  });
  expect(first.env).not.toHaveProperty("OTHER");
  expect(second).not.toHaveProperty("stdin");
});

it("shows the environment, and names an unknown directive", async () => {
  await using user = await createKiroUser();

  const shown = await user.chat("[[env]]", { env: { SOME: "thing" } });
  const unknown = await user.chat("[[wrtie a: b]]");

  expect(JSON.parse(shown.stdout.replace(MARKER, ""))).toMatchObject({ SOME: "thing", HOME: user.host.home });
  expect(unknown.stdout).toContain('There is no directive "wrtie".');
});
