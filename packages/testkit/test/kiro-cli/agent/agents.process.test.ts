import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createKiroUser } from "../run-kiro-cli.ts";

it.each([
  ["q1", "Error: no agent with name nobody found. Falling back to user specified default"],
  ["v2", 'warning: agent "nobody" not found, using "kiro_default"'],
])("%s falls back to its default agent with a warning on stderr", async (profile, expected) => {
  await using user = await createKiroUser();

  const { stdout, stderr, exitCode } = await user.chat("[[status]]", {
    argv: ["--agent", "nobody"],
    env: { FAKE_KIRO_PROFILE: profile },
  });

  expect(exitCode).toBe(0);
  expect(stderr).toContain(expected);
  expect(stdout).toContain('"agent":"kiro_default"');
});

it("ends with exit code 4 for an unknown agent in strict mode", async () => {
  await using user = await createKiroUser();

  const { stdout, exitCode } = await user.chat("hi", {
    argv: ["--agent", "nobody"],
    env: { FAKE_KIRO_STRICT_AGENT: "1" },
  });

  expect({ stdout, exitCode }).toEqual({ stdout: "", exitCode: 4 });
});

it.each([
  ["is not JSON", '{ "name": "bad", ', /Json supplied at .*bad\.json is invalid/],
  ["has a key that Kiro does not know", '{ "name": "bad", "role": "x" }', /invalid: unknown field `role`/],
  ["names a missing prompt file", '{ "name": "bad", "prompt": "file://./gone.md" }', /File URI not found/],
])("warns of an agent file that %s, and falls back", async (_what, text, complaint) => {
  await using user = await createKiroUser();
  await writeFile(join(user.host.agentsDir, "bad.json"), text);

  const { stdout, stderr, exitCode } = await user.chat("[[status]]", { argv: ["--agent", "bad"] });

  expect(exitCode).toBe(0);
  expect(stderr).toMatch(complaint);
  expect(stdout).toContain('"agent":"kiro_default"');
});

it("finds an agent by its name field, and by its file name without one", async () => {
  await using user = await createKiroUser();
  await writeFile(join(user.host.agentsDir, "a.json"), '{ "name": "b" }');
  await writeFile(join(user.host.agentsDir, "c.json"), "{}");

  const byName = await user.chat("[[status]]", { argv: ["--agent", "b"] });
  const byFile = await user.chat("[[status]]", { argv: ["--agent", "c"] });
  const shadowed = await user.chat("[[status]]", { argv: ["--agent", "a"] });

  expect(byName.stdout).toContain('"agent":"b"');
  expect(byFile.stdout).toContain('"agent":"c"');
  expect(shadowed.stdout).toContain('"agent":"kiro_default"');
});

it("lets the current folder's agent shadow the user's", async () => {
  await using user = await createKiroUser();
  const agents = join(user.work, ".kiro", "agents");
  await mkdir(agents, { recursive: true });
  await writeFile(join(agents, "reader.json"), '{ "name": "reader", "model": "claude-opus-4" }');

  const { stdout, stderr } = await user.chat("[[status]]", { argv: ["--agent", "reader"] });

  expect(stderr).toContain("Agent conflict for reader. Using workspace version.");
  expect(stdout).toContain('"model":"claude-opus-4"');
});

it("lists its agents on stderr", async () => {
  await using user = await createKiroUser();

  const { stdout, stderr, exitCode } = await user.run(["agent", "list"]);

  expect({ stdout, exitCode }).toEqual({ stdout: "", exitCode: 0 });
  expect(stderr).toMatch(/code-reviewer .*agents\n/);
  expect(stderr).toMatch(/kiro_default +\*\*No path found\*\*/);
});
