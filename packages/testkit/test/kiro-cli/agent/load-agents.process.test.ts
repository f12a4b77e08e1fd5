import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createKiroUser } from "../run-kiro-cli.ts";

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
  const answers: string[] = [];
  for (const name of ["b", "c", "a"]) {
    const { stdout } = await user.chat("[[status]]", { argv: ["--agent", name] });
    answers.push(/"agent":"(\w+)"/.exec(stdout)?.[1] ?? "");
  }

  expect(answers).toEqual(["b", "c", "kiro_default"]);
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
