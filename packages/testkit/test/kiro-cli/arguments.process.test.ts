import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createKiroUser } from "./run-kiro-cli.ts";

it.each([
  ["q1", "kiro-cli 1.22.0\n"],
  ["v2", "kiro-cli 2.12.0\n"],
  ["v2json", "kiro-cli 2.24.0\n"],
])("%s prints its version", async (profile, expected) => {
  await using user = await createKiroUser();

  const { stdout, exitCode } = await user.run(["--version"], { env: { FAKE_KIRO_PROFILE: profile } });

  expect({ stdout, exitCode }).toEqual({ stdout: expected, exitCode: 0 });
});

it.each([
  ["an unknown flag", "v2json", ["chat", "--no-interactive", "--bogus", "x"]],
  ["a prompt that begins with a dash", "v2json", ["chat", "--no-interactive", "-x"]],
  ["two prompts", "v2json", ["chat", "--no-interactive", "a", "b"]],
  ["an unknown command", "v2json", ["frobnicate"]],
  ["acp on the first engine", "q1", ["acp"]],
  ["acp with a prompt", "v2json", ["acp", "x"]],
  ["--output-format on an older version", "v2", ["chat", "--no-interactive", "--output-format", "text", "x"]],
  ["--resume-id on the first engine", "q1", ["chat", "--no-interactive", "--resume-id", "1", "x"]],
  ["an unknown output format", "v2json", ["chat", "--output-format", "json", "x"]],
])("%s ends with exit code 2", async (_what, profile, argv) => {
  await using user = await createKiroUser();

  const { stdout, exitCode } = await user.run(argv, { env: { FAKE_KIRO_PROFILE: profile } });

  expect({ stdout, exitCode }).toEqual({ stdout: "", exitCode: 2 });
});

it("takes a prompt that begins with a dash behind --", async () => {
  await using user = await createKiroUser();

  const { stdout } = await user.run(["chat", "--no-interactive", "--", "-x"]);

  expect(stdout).toContain("You asked: -x");
});

it("refuses to chat without a prompt", async () => {
  await using user = await createKiroUser();

  const { stderr, exitCode } = await user.run(["chat", "--no-interactive"], { input: " \n" });

  expect(exitCode).toBe(1);
  expect(stderr).toContain("Input must be supplied when running in non-interactive mode");
});

it("uses the argument and ignores stdin if it has both", async () => {
  await using user = await createKiroUser();
  const log = join(user.host.home, "log.jsonl");

  const { stdout } = await user.run(["chat", "--no-interactive", "from the argument"], {
    input: "from stdin",
    env: { FAKE_KIRO_LOG: log },
  });

  expect(stdout).toContain("You asked: from the argument");
  expect(JSON.parse(await readFile(log, "utf8"))).not.toHaveProperty("stdin");
});

it("records every call", async () => {
  await using user = await createKiroUser();
  const log = join(user.host.home, "log.jsonl");

  await user.chat("one", { env: { FAKE_KIRO_LOG: log, KIRO_X: "y", OTHER: "z" } });
  await user.chat("two", { env: { FAKE_KIRO_LOG: log } });

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
  expect(second.stdin).toBe("two");
});

it.each([
  ["q1", ["--model", "bogus"], 1],
  ["v2", ["--model", "bogus"], 1],
  ["v2json", ["--model", "bogus", "--output-format", "stream-json"], 0],
])("%s treats an unknown model as its version does", async (profile, argv, expected) => {
  await using user = await createKiroUser();

  const { stderr, exitCode } = await user.chat("hi", { argv, env: { FAKE_KIRO_PROFILE: profile } });

  expect(exitCode).toBe(expected);
  expect(stderr).toMatch(/Model 'bogus' does not exist. Available models: auto, claude|failed to set model/);
});

it("accepts configured models", async () => {
  await using user = await createKiroUser();

  const { stderr } = await user.chat("hi", { argv: ["--model", "bogus"], env: { FAKE_KIRO_MODELS: "other,bogus" } });

  expect(stderr).toContain("🤖 You are chatting with bogus");
});

it("lists its models", async () => {
  await using user = await createKiroUser();

  const { stdout } = await user.run(["chat", "--list-models", "--format", "json"]);

  expect(JSON.parse(stdout)).toMatchObject({ default_model: "auto" });
  expect(JSON.parse(stdout).models).toContainEqual(expect.objectContaining({ model_id: "claude-sonnet-4.5" }));
});

it("mixes log lines into stdout in verbose mode", async () => {
  await using user = await createKiroUser();

  const { stdout } = await user.chat("hi", { argv: ["-v"] });

  expect(stdout).toMatch(/^\S+ INFO /);
});
