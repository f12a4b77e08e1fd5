import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createKiroUser, JSON_OUTPUT, MARKER, parseEvents, type KiroUser, type RunOptions } from "./run-kiro-cli.ts";

const PROFILES = ["q1", "v2", "v2json"];

it.each(PROFILES)("%s remembers the turns before, in the same folder", async (profile) => {
  await using user = await createKiroUser();
  const env = { FAKE_KIRO_PROFILE: profile };
  await user.chat("keep token-one", { env });
  await user.chat("and token-two", { env, argv: ["--resume"] });

  expect(await recall(user, { env, argv: ["--resume"] })).toBe("token-one token-two");
});

it.each(PROFILES)("%s silently starts a new conversation if there is none to resume", async (profile) => {
  await using user = await createKiroUser();
  const env = { FAKE_KIRO_PROFILE: profile };
  const elsewhere = join(user.host.home, "elsewhere");
  await mkdir(elsewhere);
  await user.chat("keep token-one", { env, cwd: elsewhere });

  expect(await recall(user, { env, argv: ["--resume"] })).toBe("I remember nothing.");
});

it("has no memory without --resume", async () => {
  await using user = await createKiroUser();
  await user.chat("keep token-one");

  expect(await recall(user, {})).toBe("I remember nothing.");
});

it("has one conversation a folder on the first engine: any other run takes its place", async () => {
  await using user = await createKiroUser();
  const env = { FAKE_KIRO_PROFILE: "q1" };
  await user.chat("keep token-one", { env });
  await user.chat("keep token-two", { env });

  expect(await recall(user, { env, argv: ["--resume"] })).toBe("token-two");
});

it("resumes a conversation by its id, or else the newest", async () => {
  await using user = await createKiroUser();
  const first = await user.chat("keep token-one", JSON_OUTPUT);
  await user.chat("keep token-two", JSON_OUTPUT);
  const id = String(parseEvents(first.stdout)[1]?.data["sessionId"]);

  expect(await recall(user, { argv: ["--resume"] })).toBe("token-two");
  expect(await recall(user, { argv: ["--resume-id", id] })).toBe("token-one");
});

it("rejects an unknown id", async () => {
  await using user = await createKiroUser();

  const { exitCode } = await user.chat("hi", { argv: ["--resume-id", "11111111-2222-4333-8444-000000000000"] });

  expect(exitCode).toBe(1);
});

it.each([
  ["q1", "reader"],
  ["v2", "code-reviewer"],
])("%s resumes with the agent %s", async (profile, expected) => {
  await using user = await createKiroUser();
  const env = { FAKE_KIRO_PROFILE: profile };
  await user.chat("hi", { env, argv: ["--agent", "reader"] });

  const { stdout } = await user.chat("[[status]]", { env, argv: ["--agent", "code-reviewer", "--resume"] });

  expect(stdout).toContain(`"agent":"${expected}"`);
});

it("does not keep a turn that crashed", async () => {
  await using user = await createKiroUser();
  await user.chat("keep token-one");
  await user.chat("keep token-two [[fault crash]]", { argv: ["--resume"] });

  expect(await recall(user, { argv: ["--resume"] })).toBe("token-one");
});

async function recall(user: KiroUser, options: RunOptions): Promise<string> {
  const { stdout } = await user.chat("[[recall]]", options);
  return stdout.replace(MARKER, "").replace("\u001B[38;5;10m> \u001B[0m", "").trim();
}
