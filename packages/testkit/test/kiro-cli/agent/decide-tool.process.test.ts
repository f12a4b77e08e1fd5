import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { startMockServer } from "../../../src/mcp/start-mock-server.ts";
import { createKiroUser, MARKER } from "../run-kiro-cli.ts";

it("allows what an agent's allowed tools allow", async () => {
  await using user = await createKiroUser();

  const { stdout } = await user.chat(
    "[[write new/a.txt: one: two]] [[append new/a.txt: +three]] [[read new/a.txt]] [[run: echo 1; echo 2 >&2; echo 3; echo 4 >&2; pwd]]",
    { argv: ["--agent", "shell-worker"] },
  );

  expect(await readFile(join(user.work, "new/a.txt"), "utf8")).toBe("one: two+three");
  expect(stdout).toContain(`${MARKER}one: two+three\n`);
  expect(stdout.endsWith(`\n1\n2\n3\n4\n${user.work}\n`)).toBe(true);
});

it("works in the directory that the prompt names", async () => {
  await using user = await createKiroUser();

  await user.chat(`In directory ${user.work}, [[write a.txt: x]]`, { argv: ["--agent", "shell-worker"], cwd: "/" });

  expect(existsSync(join(user.work, "a.txt"))).toBe(true);
});

it("has no tool that the agent does not list", async () => {
  await using user = await createKiroUser();

  const { stdout, exitCode } = await user.chat("[[run: id]]", { argv: ["--agent", "code-reviewer"] });

  expect(exitCode).toBe(0);
  expect(stdout).toBe(`${MARKER}I have no tool execute_bash.\n`);
});

it("denies a tool that the agent has but may not use, and continues", async () => {
  await using user = await createKiroUser();

  const { stdout, exitCode } = await user.chat("[[write a.txt: x]]", { argv: ["--agent", "reader"] });

  expect(exitCode).toBe(0);
  expect(existsSync(join(user.work, "a.txt"))).toBe(false);
  expect(stdout).toBe(
    "Command write is rejected because it matches one or more rules on the denied list:\n" +
      `  - non-interactive mode (no user to approve)\n\n${MARKER}I was not allowed to use fs_write.\n`,
  );
});

it("ends with exit code 1 on the first engine when a tool needs approval, after it printed its text so far", async () => {
  await using user = await createKiroUser();

  const { stdout, stderr, exitCode } = await user.chat("[[say: so far]] [[sleep 1]] [[write a.txt: x]]", {
    argv: ["--agent", "reader"],
    profile: "q1",
  });

  expect(exitCode).toBe(1);
  expect(stdout).toContain("so far");
  expect(stderr).toContain("Tool approval required but --no-interactive was specified. Use --trust-all-tools");
});

it.each([
  [["--trust-all-tools"], true],
  [["-a"], true],
  [["--trust-tools=fs_write"], true],
  [["--trust-tools", "read,write"], true],
  [["--trust-tools="], false],
  [["--trust-tools=@server/fs_write"], false],
])("with %j it writes: %s", async (argv, expected) => {
  await using user = await createKiroUser();

  await user.chat("[[write a.txt: x]]", { argv: ["--agent", "reader", ...argv] });

  expect(existsSync(join(user.work, "a.txt"))).toBe(expected);
});

it.each([
  ["@tracker", true],
  ["@tracker/close_*", true],
  ["@tracker/open", false],
  ["*", false],
])("an allowed tool %j covers the tool of a server: %s", async (allowed, expected) => {
  await using user = await createKiroUser();
  const agent = { name: "tracking", tools: ["*"], allowedTools: [allowed] };
  await writeFile(join(user.host.agentsDir, "tracking.json"), JSON.stringify(agent));

  const { stdout } = await user.chat("[[tool @tracker/close_ticket]]", { argv: ["--agent", "tracking"] });

  expect(!stdout.includes("is rejected")).toBe(expected);
});

it("calls a tool of a server with an address, and shows the model all of the result", async () => {
  await using server = await startMockServer({ tools: [{ name: "echo" }] });
  await using user = await createKiroUser();
  const mcpServers = { far: { type: "http", url: server.url }, gone: { type: "http", url: "http://127.0.0.1:9/" } };
  const agent = { name: "calling", tools: ["*"], allowedTools: ["@far"], mcpServers };
  await writeFile(join(user.host.agentsDir, "calling.json"), JSON.stringify(agent));

  const prompt = '[[tool @far/echo: {"a":1}]] [[tool @far/other]]';
  const { stderr, stdout } = await user.chat(prompt, { argv: ["--agent", "calling"] });

  expect(stdout).toContain(JSON.stringify({ content: [{ type: "text", text: '{"a":1}' }] }));
  expect(stdout).toContain("I have no tool @far/other.");
  expect(stderr).toContain("One or more mcp server did not load correctly.");
});

it("reads files of the current folder without approval, and no others", async () => {
  await using user = await createKiroUser();
  await writeFile(join(user.work, "a.txt"), "inside");
  await writeFile(join(user.host.agentsDir, "plain.json"), '{ "name": "plain", "tools": ["fs_read"] }');

  const { stdout } = await user.chat("[[read a.txt]] [[read ../.ssh/id_rsa]]", { argv: ["--agent", "plain"] });

  expect(stdout).toContain("inside");
  expect(stdout).toContain("Command read is rejected");
  expect(stdout).not.toContain(user.host.canaries.sshKey);
});
