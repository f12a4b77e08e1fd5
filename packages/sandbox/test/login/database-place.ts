import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect } from "vitest";
import { createHostHome } from "@budgie/testkit";
import { loadKiroLogin, type KiroLogin } from "../../src/login/kiro-login.ts";
import { COPY_FILES } from "../../src/login/copy-database.ts";
import { createSessionDatabase, renewSessionDatabase } from "../../src/login/session-database.ts";
import { createScratchFolder } from "../../src/login/scratch-folder.ts";

/** A database's files by suffix; `""` is the database itself. */
type DatabaseFiles = ReadonlyMap<string, Buffer>;

/** A folder with a session's databases, and functions to change them. */
export type DatabasePlace = ReturnType<typeof createDatabasePlace>;

/** Creates the place. */
export function createDatabasePlace() {
  const root = mkdtempSync(join(tmpdir(), "budgie-session-db-"));
  const scratch = join(root, "scratch");
  return {
    root,
    scratch,
    /** Queries a database, like Kiro in the sandbox */
    rows(bytes: Buffer, sql: string): unknown[] {
      const path = join(root, `copy-${Math.random()}`);
      writeFileSync(path, bytes);
      const database = new Database(path);
      try {
        return database.prepare(sql).raw().all().flat();
      } finally {
        database.close();
      }
    },
    /** Lets an agent change a session's database, and returns all its files. */
    work(bytes: Buffer, act: (database: Database.Database) => void, hot = false): DatabaseFiles {
      const path = join(root, "agent.sqlite3");
      writeFileSync(path, bytes);
      const database = new Database(path);
      act(database);
      if (!hot) database.close();
      const endings = ["", "-wal", "-shm", "-journal"].filter((ending) => existsSync(path + ending));
      const files = new Map(endings.map((ending) => [ending, readFileSync(path + ending)]));
      if (hot) database.close();
      return files;
    },
    /** Writes a login into a database that an agent changed. */
    async renew(files: DatabaseFiles, login: KiroLogin | undefined, signal = new AbortController().signal) {
      const host = login && (await createSessionDatabase(login, scratch));
      await using folder = createScratchFolder(scratch);
      for (const [ending, bytes] of files) writeFileSync(join(folder.path, COPY_FILES.session + ending), bytes);
      const { path } = await renewSessionDatabase({ folder: folder.path, host, signal });
      return readFileSync(path);
    },
    [Symbol.dispose]() {
      // Copies of the login exist for milliseconds.
      expect(existsSync(scratch) ? readdirSync(scratch) : []).toEqual([]);
      rmSync(root, { recursive: true });
    },
  };
}

/** Returns a host's login, and the next one. */
export async function logins(): Promise<{ readonly before: KiroLogin; readonly after: KiroLogin }> {
  await using host = await createHostHome();
  const before = await loadKiroLogin(host.dataDir);
  if (before === undefined) throw new Error("no login");
  return { before, after: { ...before, auth: [{ key: "kirocli:odic:token", value: "the new token" }] } };
}
