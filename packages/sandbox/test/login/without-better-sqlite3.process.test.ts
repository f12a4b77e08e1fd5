import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import Database from "better-sqlite3";
import { beforeAll, describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../../../../", import.meta.url));
const NODE_22 = process.env["BUDGIE_NODE22"];

// The fixture is a plain program, so that another Node with other libraries can run it.
describe("without better-sqlite3", () => {
  beforeAll(() => {
    const tsc = spawnSync(process.execPath, ["node_modules/typescript/bin/tsc", "-b", "packages/sandbox"], {
      cwd: root,
    });
    expect(tsc.status).toBe(0);
  });

  it.skipIf(hasNodeSqlite(process.execPath))("says in one line what is missing and what to do", () => {
    const { status, stdout } = runFixture(process.execPath, "no-better-sqlite3");

    expect(status).toBe(0);
    expect(stdout).toMatch(
      /^RUNNER_UNAVAILABLE budgie needs SQLite .*better-sqlite3.*node:sqlite.*"npm rebuild better-sqlite3 .*Node 22\.13.*\n$/,
    );
  });

  it.skipIf(hasNodeSqlite(process.execPath))(
    "says the same when only its native part is missing, as without install scripts",
    () => {
      expect(runFixture(process.execPath, "no-bindings").stdout).toMatch(
        /^RUNNER_UNAVAILABLE .*Could not locate the bindings file.*\n$/,
      );
    },
  );

  // Needs a Node that has node:sqlite: BUDGIE_NODE22=/path/to/node22
  it.skipIf(NODE_22 === undefined && !hasNodeSqlite(process.execPath))("writes the login with node:sqlite", () => {
    const { stderr, stdout } = runFixture(NODE_22 ?? process.execPath, "no-better-sqlite3");

    expect(stderr.replace(/^.*(?:ExperimentalWarning|trace-warnings).*\n/gm, "")).toBe("");
    expect(JSON.parse(stdout)).toEqual({
      said: ["what was said"],
      token: ["the next token"],
      state: ["api.codewhisperer.profile"],
      changedOutside: false,
    });
  });
});

function hasNodeSqlite(node: string): boolean {
  return spawnSync(node, ["--no-warnings", "-e", "require('node:sqlite')"]).status === 0;
}

/** Runs the fixture in a Node whose better-sqlite3 is broken in a certain way, on a host's database. */
function runFixture(node: string, how: "no-better-sqlite3" | "no-bindings") {
  const folder = mkdtempSync(join(tmpdir(), "budgie-sqlite-"));
  const database = new Database(join(folder, "data.sqlite3"));
  database.exec(`
    CREATE TABLE migrations (id INTEGER PRIMARY KEY, version INTEGER);
    CREATE TABLE auth_kv (key TEXT PRIMARY KEY, value TEXT);
    CREATE TABLE state (key TEXT PRIMARY KEY, value BLOB);
    CREATE TABLE conversations (key TEXT PRIMARY KEY, value TEXT);
    INSERT INTO auth_kv VALUES ('kirocli:odic:token', 'the first token');
    INSERT INTO state VALUES ('api.codewhisperer.profile', 'p'), ('telemetryClientId', 't');
    INSERT INTO conversations VALUES ('/elsewhere', 'canary');`);
  database.close();
  try {
    const fixture = fileURLToPath(new URL("../fixtures/hand-login-over.mjs", import.meta.url));
    return spawnSync(node, [fixture, how, folder], { encoding: "utf8", cwd: root });
  } finally {
    rmSync(folder, { recursive: true });
  }
}
