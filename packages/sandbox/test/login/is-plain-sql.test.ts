import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { createHostHome } from "@budgie/testkit";
import { isPlainSql } from "../../src/login/is-plain-sql.ts";
import { loadKiroLogin } from "../../src/login/kiro-login.ts";

describe("isPlainSql", () => {
  it("accepts all statements that Kiro is known to use", async () => {
    await using host = await createHostHome();
    const login = await loadKiroLogin(host.dataDir);

    expect(login?.schema).toHaveLength(8);
    expect(login?.schema.filter((sql) => !isPlainSql(sql))).toEqual([]);
  });

  it.each([
    "CREATE TABLE t (a)",
    'create table "t"("a" text not null unique, b INTEGER PRIMARY KEY)',
    "CREATE TABLE t (\n\ta TEXT , b BLOB,\nPRIMARY KEY (a, b), UNIQUE(b) )",
    "CREATE UNIQUE INDEX i ON t (a DESC, b)",
  ])("accepts %j, as SQLite does", (sql) => {
    const database = new Database(":memory:");
    if (sql.includes("INDEX")) database.exec("CREATE TABLE t (a, b)");

    expect(isPlainSql(sql)).toBe(true);
    expect(() => database.exec(sql)).not.toThrow();
  });

  it.each([
    "CREATE TABLE t (a DEFAULT 1)",
    "CREATE TABLE t (a DEFAULT (f(1)))",
    "CREATE TABLE t (a CHECK (f(a)))",
    "CREATE TABLE t (a, CHECK (f(a)))",
    "CREATE TABLE t (a, b AS (f(a)))",
    "CREATE TABLE t (a, b GENERATED ALWAYS AS (f(a)) STORED)",
    "CREATE TABLE t (a REFERENCES b ON DELETE CASCADE)",
    "CREATE TABLE t (a COLLATE NOCASE)",
    "CREATE TABLE t (a UNIQUE ON CONFLICT REPLACE)",
    "CREATE TABLE t AS SELECT 1",
    "CREATE TABLE t (a); DROP TABLE u",
    "CREATE TABLE t (a) -- more",
    "CREATE TABLE t (a /**/ CHECK (1))",
    "CREATE TABLE [t] (a)",
    "CREATE TABLE main.t (a)",
    "CREATE TEMP TABLE t (a)",
    "CREATE TABLE IF NOT EXISTS t (a)",
    "CREATE VIRTUAL TABLE t USING fts5(a)",
    "CREATE VIEW v (a) AS SELECT 1",
    "CREATE TRIGGER t AFTER INSERT ON u BEGIN SELECT 1; END",
    "CREATE INDEX i ON t (f(a))",
    "CREATE INDEX i ON t (a + 1)",
    "CREATE INDEX i ON t (a) WHERE f(a)",
    "CREATE INDEX i ON t (a COLLATE f)",
    "",
    "null",
  ])("does not accept %j", (sql) => {
    expect(isPlainSql(sql)).toBe(false);
  });

  it.each([
    ["one character", " ".repeat(2 ** 21)],
    ["spaces within", `CREATE TABLE t (a${" ".repeat(9900)}!)`],
    ["columns", `CREATE TABLE t (${"a UNIQUE NOT NULL, ".repeat(500)}!)`],
    ["columns without a type", `CREATE TABLE t (${"unique, ".repeat(1200)}!)`],
    ["keys", `CREATE TABLE t (${"UNIQUE(a,a,a), ".repeat(600)}!)`],
  ])("is fast with any number of %s", (_what, sql) => {
    const began = performance.now();

    expect(isPlainSql(sql)).toBe(false);
    expect(performance.now() - began).toBeLessThan(1000);
  });
});
