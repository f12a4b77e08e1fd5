import Database from "better-sqlite3";
import { chmod, copyFile, mkdir, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createKiroUser } from "../run-kiro-cli.ts";

it("creates its database with mode 0600 and all ten migrations", async () => {
  await using user = await createKiroUser();
  const data = join(user.host.home, "other-data");

  await user.chat("hi", { env: { XDG_DATA_HOME: data, KIRO_API_KEY: "ksk_1" } });

  const file = join(data, "kiro-cli", "data.sqlite3");
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(query(file, "SELECT version FROM migrations")).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect(query(file, "SELECT name FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name")).toEqual([
    "auth_kv",
    "conversations",
    "conversations_v2",
    "history",
    "idx_conversations_v2_key_updated",
    "idx_conversations_v2_updated_at",
    "migrations",
    "state",
  ]);
  expect(query(file, "PRAGMA journal_mode")).toEqual(["delete"]);
});

it("corrects a wider mode", async () => {
  await using user = await createKiroUser();
  await chmod(user.host.database, 0o644);

  await user.chat("hi");

  expect((await stat(user.host.database)).mode & 0o777).toBe(0o600);
});

it("tolerates migrations of a later version", async () => {
  await using user = await createKiroUser();
  change(user.host.database, "INSERT INTO migrations (version, migration_time) VALUES (12, 0)");

  expect((await user.chat("hi")).exitCode).toBe(0);
});

it("fails if tables exist without their migration rows", async () => {
  await using user = await createKiroUser();
  change(user.host.database, "DELETE FROM migrations");

  const { stderr, exitCode } = await user.chat("hi");

  expect(exitCode).toBe(1);
  expect(stderr).toContain("already exists");
});

it("keeps its newest rows in a -wal file on request", async () => {
  await using user = await createKiroUser();

  await user.chat("keep token-one [[fault kill-self]]", { env: { FAKE_KIRO_WAL: "1" } });

  expect(await readdir(user.host.dataDir)).toContain("data.sqlite3-wal");
});

it("works on a copy with only the rows that a login needs", async () => {
  await using user = await createKiroUser();
  const data = join(user.host.home, "other-data");
  await mkdir(join(data, "kiro-cli"), { recursive: true });
  const copy = join(data, "kiro-cli", "data.sqlite3");
  await copyFile(user.host.database, copy);
  change(copy, "DELETE FROM conversations; DELETE FROM conversations_v2; DELETE FROM history; DELETE FROM state");

  const { stdout } = await user.chat("hi", { env: { XDG_DATA_HOME: data } });

  expect(stdout).toContain("You asked: hi");
});

function query(file: string, sql: string): unknown[] {
  const database = new Database(file);
  const rows = database.prepare(sql).pluck().all();
  database.close();
  return rows;
}

function change(file: string, sql: string): void {
  const database = new Database(file);
  database.exec(sql);
  database.close();
}
