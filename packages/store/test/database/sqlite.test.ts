import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadSqlite } from "@budgie/store";
import { createFolder } from "../helpers.ts";

describe("loadSqlite", () => {
  it("opens a database, also read-only", async () => {
    const folder = createFolder();
    const path = join(folder, "data.sqlite3");
    const sqlite = await loadSqlite();

    const database = sqlite(path, { readOnly: false });
    database.exec("CREATE TABLE t (a, b)");
    database.run("INSERT INTO t VALUES (?, ?)", "text", new Uint8Array([1, 2]));
    database.close();
    const reader = sqlite(path, { readOnly: true });

    expect(reader.all("SELECT a, hex(b) AS b FROM t WHERE a = ?", "text")).toEqual([{ a: "text", b: "0102" }]);
    expect(() => reader.run("DELETE FROM t")).toThrow(/readonly/);
    reader.close();
    expect(() => sqlite(join(folder, "missing"), { readOnly: true })).toThrow(/unable to open|does not exist/);
  });
});
