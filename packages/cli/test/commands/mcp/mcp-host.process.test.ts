import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { toMockCommand } from "@budgie/testkit";
import { allowAll } from "../../helpers/allow-servers.ts";
import { expect, it, onTestFinished } from "vitest";

const BUDGIE = fileURLToPath(new URL("../../../bin/budgie.js", import.meta.url));

it("budgie mcp call starts a program on this machine once it is allowed, outside the current folder, with the variables that are listed, and ends it", async () => {
  const home = mkdtempSync(join(tmpdir(), "budgie-mcp-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const project = join(home, "project");
  const pidFile = join(home, "pids");
  mkdirSync(join(home, ".kiro/agents"), { recursive: true });
  mkdirSync(project);
  const does = { kind: "env" as const, names: ["KEY", "OTHER", "PWD"] };
  const entry = { ...toMockCommand({ tools: [{ name: "env", does }], pidFile }), env: { KEY: "<${KEY}>" } };
  const agent = { name: "coder", description: "sub-agent: Codes.", mcpServers: { here: entry } };
  writeFileSync(join(home, ".kiro/agents/coder.json"), JSON.stringify(agent));
  const config = join(project, "budgie.json");
  writeFileSync(config, JSON.stringify({ agents: { coder: { mcp: { here: { run: "host", env: ["KEY"] } } } } }));
  const env = { PATH: process.env["PATH"], HOME: home, KEY: "k", OTHER: "o" };

  const run = (...args: readonly string[]) =>
    promisify(execFile)(process.execPath, [BUDGIE, "mcp", ...args, "--config", config], { cwd: project, env });
  const call = ["call", "here", "env", "{}"];

  // Without a terminal, nothing can be allowed.
  await expect(run("allow", "here")).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining("Only a person"),
  });
  await expect(run(...call)).rejects.toMatchObject({ stderr: expect.stringContaining("budgie mcp allow here") });
  expect(existsSync(pidFile)).toBe(false);
  allowAll(home, config);
  const { stdout } = await run(...call);

  expect(JSON.parse(stdout)).toEqual(["<k>", null, home]);
  const pid = Number(readFileSync(pidFile, "utf8"));
  expect(() => process.kill(pid, 0)).toThrow("ESRCH");
});
