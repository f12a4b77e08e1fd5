import Database from "better-sqlite3";
import { existsSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createHostHome } from "@budgie/testkit";

it("has secrets in the usual places, each with a unique mark", async () => {
  await using host = await createHostHome();
  const { home, canaries } = host;

  expect(await readFile(join(home, ".ssh/id_rsa"), "utf8")).toContain(canaries.sshKey);
  expect(await readFile(join(home, ".aws/credentials"), "utf8")).toContain(canaries.awsCredentials);
  expect(await readFile(join(home, ".kiro/settings/mcp.json"), "utf8")).toContain(canaries.mcpSecret);
  expect(await readFile(join(home, ".kiro/agents/orchestrator.json"), "utf8")).toContain(canaries.otherAgentSecret);
  const database = await readFile(host.database, "latin1");
  for (const canary of [canaries.conversation, canaries.history, canaries.state, canaries.login]) {
    expect(database).toContain(canary);
  }
  expect((await stat(join(home, ".ssh/id_rsa"))).mode & 0o777).toBe(0o600);
  expect(new Set(Object.values(canaries)).size).toBe(Object.keys(canaries).length);
});

it("has a login, unless it is left out", async () => {
  await using loggedIn = await createHostHome();
  await using loggedOut = await createHostHome({ login: false });

  expect(authKeys(loggedIn.database)).toEqual(["kirocli:odic:device-registration", "kirocli:odic:token"]);
  expect(authKeys(loggedOut.database)).toEqual([]);
});

it("keeps its rows in a -wal file on request", async () => {
  await using host = await createHostHome({ wal: true });

  expect(await readFile(`${host.database}-wal`, "latin1")).toContain(host.canaries.login);
  expect(await readFile(host.database, "latin1")).not.toContain(host.canaries.login);
});

it("has a malformed agent only on request", async () => {
  await using plain = await createHostHome();
  await using spoilt = await createHostHome({ malformedAgent: true });

  expect(existsSync(join(plain.agentsDir, "malformed.json"))).toBe(false);
  await expect(readFile(join(spoilt.agentsDir, "malformed.json"), "utf8").then(JSON.parse)).rejects.toThrow(
    SyntaxError,
  );
});

it("is removed by disposal", async () => {
  const host = await createHostHome({ wal: true });

  await host[Symbol.asyncDispose]();

  expect(existsSync(host.home)).toBe(false);
});

function authKeys(file: string): unknown[] {
  const database = new Database(file, { readonly: true });
  const keys = database.prepare("SELECT key FROM auth_kv ORDER BY key").pluck().all();
  database.close();
  return keys;
}
