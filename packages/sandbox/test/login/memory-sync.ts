import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { createHostHome, type HostHome } from "@budgie/testkit";
import type { Credentials } from "../../src/profile/credentials.ts";
import type { ArchiveEntry, ArchiveFile, HomeArchive } from "../../src/home/home-archive.ts";
import type { LoginNeed } from "../../src/login/login.ts";
import { createLoginSync } from "../../src/login/login-sync.ts";

export const FILE = "/home/agent/.local/share/kiro-cli/data.sqlite3";
export const AUTH = "/auth/data.sqlite3";

/** Two volumes in memory, with a record of their writes. */
function createMemoryArchive() {
  const files = new Map<string, ArchiveFile & { readonly content: Buffer }>();
  const writes: { readonly how: "create" | "write"; readonly paths: readonly string[] }[] = [];
  const put = (how: "create" | "write") => async (given: readonly ArchiveEntry[]) => {
    writes.push({ how, paths: given.map(({ path }) => path) });
    for (const file of given) {
      if (file.content === "folder") continue;
      const content = Buffer.isBuffer(file.content) ? file.content : readFileSync(file.content.path);
      files.set(file.path, { ...file, content });
    }
  };
  const archive: HomeArchive = {
    readFile: async (name) => files.get(`/home/agent/${name}`)?.content,
    async saveFiles(folder, names, { to }) {
      const found = names.filter((name) => files.has(`${folder}/${name}`));
      for (const name of found) writeFileSync(join(to, name), files.get(`${folder}/${name}`)?.content ?? "");
      return new Set(found);
    },
    checkMountPoints: () => Promise.resolve(),
    create: put("create"),
    write: put("write"),
  };
  return { archive, files, writes };
}

/** Creates the login of a session whose volumes are in memory, and its host. */
export async function openSync(options: Parameters<typeof createHostHome>[0] = {}, credentials: Credentials = "full") {
  const host = await createHostHome(options);
  const memory = createMemoryArchive();
  const root = mkdtempSync(join(tmpdir(), "budgie-sync-"));
  const sync = createLoginSync({
    archive: memory.archive,
    kiroDataDir: host.dataDir,
    credentials,
    scratchDir: join(root, "scratch"),
  });
  return {
    ...memory,
    host,
    sync: {
      ...sync,
      prepare: (need: LoginNeed, signal = new AbortController().signal) => sync.prepare(need, signal),
    },
    /** Opens the session's database like an agent, and stores its changes */
    work(sql: string) {
      const path = join(root, "agent.sqlite3");
      writeFileSync(path, memory.files.get(FILE)?.content ?? "");
      const database = new Database(path);
      try {
        const statement = database.prepare(sql);
        if (statement.reader) return statement.raw().all().flat();
        statement.run();
        memory.files.set(FILE, { path: FILE, content: database.serialize(), mode: 0o600 });
        return [];
      } finally {
        database.close();
        rmSync(path);
      }
    },
    /** Replaces the database by an agent's version of its bytes */
    spoil(change: (content: Buffer) => Buffer) {
      const content = change(memory.files.get(FILE)?.content ?? Buffer.alloc(0));
      memory.files.set(FILE, { path: FILE, content, mode: 0o600 });
    },
    async [Symbol.asyncDispose]() {
      await host[Symbol.asyncDispose]();
      rmSync(root, { recursive: true });
    },
  };
}

export type MemorySync = Awaited<ReturnType<typeof openSync>>;

/** Changes the host's database, like its Kiro. */
export function changeHost({ database }: HostHome, sql: string): void {
  const opened = new Database(database);
  opened.exec(sql);
  opened.close();
}

export const TOKEN = "SELECT value FROM auth_kv WHERE key LIKE '%:token'";
export const ROTATE = "UPDATE auth_kv SET value = 'the next token' WHERE key LIKE '%:token'";
export const SAY = "INSERT INTO conversations (key, value) VALUES ('/workspace', 'what was said')";
export const SAID = "SELECT value FROM conversations";
