import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { createKiroUser, type KiroUser } from "../run-kiro-cli.ts";

/** Returns the entry of a server that leaves a file behind in its working directory. */
const server = (mark: string) => ({ mcpServers: { [mark]: { command: "sh", args: ["-c", `touch ${mark}; cat`] } } });

async function write({ work }: KiroUser, name: string, json: unknown): Promise<void> {
  const path = join(work, name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, JSON.stringify(json));
}

const agentFile = (host: KiroUser["host"], name: string, fields: object) =>
  writeFile(join(host.agentsDir, `${name}.json`), JSON.stringify({ name, tools: ["*"], ...fields }));

it.each([
  ["includeMcpJson", true],
  ["useLegacyMcpJson", true],
  ["includeMcpJson", false],
])("starts the current folder's servers for an agent with %s: %s", async (key, includes) => {
  await using user = await createKiroUser();
  await agentFile(user.host, "worker", { [key]: includes });
  await write(user, ".kiro/settings/mcp.json", server("served"));

  const { exitCode } = await user.chat("hi", { argv: ["--agent", "worker"] });

  expect([exitCode, existsSync(join(user.work, "served"))]).toEqual([0, includes]);
});

it("starts an agent's own servers, and reports one that does not load", async () => {
  await using user = await createKiroUser();
  await agentFile(user.host, "worker", server("served"));
  await agentFile(user.host, "broken", { mcpServers: { none: { command: "/no/such/program" } } });

  const fine = await user.chat("hi", { argv: ["--agent", "worker"] });
  const broken = await user.chat("hi", { argv: ["--agent", "broken"] });

  expect(existsSync(join(user.work, "served"))).toBe(true);
  expect(fine.stderr).not.toContain("mcp server");
  expect(broken).toMatchObject({ exitCode: 0, stderr: expect.stringContaining("mcp server did not load correctly") });
});

it("lets an agent's servers end when a turn fails", async () => {
  await using user = await createKiroUser();
  const served = { mine: { command: "sh", args: ["-c", "cat; sleep 0.2; touch served"] } };
  await agentFile(user.host, "worker", { mcpServers: served });

  const { exitCode } = await user.chat("[[write x: y]]", {
    argv: ["--trust-tools=", "--agent", "worker"],
    profile: "q1",
  });

  expect([exitCode, existsSync(join(user.work, "served"))]).toEqual([1, true]);
});

it.each([
  ["q1", [], ".amazonq/mcp.json", {}, true],
  ["v2", [], ".amazonq/mcp.json", {}, false],
  // V3 starts them whatever the agent includes.
  ["v3", ["--v3"], ".kiro/settings/mcp.json", { includeMcpJson: false }, true],
] as const)("%s %j starts the servers of %s: %s", async (...[profile, argv, path, fields, starts]) => {
  await using user = await createKiroUser();
  await agentFile(user.host, "worker", { includeMcpJson: true, ...fields });
  await write(user, path, server("served"));

  await user.chat("hi", { profile, argv: [...argv, "--agent", "worker"] });

  expect(existsSync(join(user.work, "served"))).toBe(starts);
});
