import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { withFileLock } from "./with-file-lock.ts";
import { parseStoredLogin, type StoredLogin } from "./stored-login.ts";

/** Logins in a folder, one file each, which only its user can read. */
export type LoginStore = {
  readonly read: (id: string) => StoredLogin | undefined;
  readonly listIds: () => readonly string[];
  /** Changes one login while no other process can. `write` replaces it; `undefined` removes it. */
  readonly change: <Result>(id: string, work: (write: WriteLogin) => Promise<Result>) => Promise<Result>;
};

type WriteLogin = (login: StoredLogin | undefined) => void;

/** Creates a store. Nothing is written before the first login. */
export function createLoginStore(folder: string): LoginStore {
  const fileOf = (id: string): string => join(folder, `${id}${SUFFIX}`);

  function write(id: string, login: StoredLogin | undefined): void {
    const draft = join(folder, `${id}.draft`);
    if (login === undefined) {
      // A killed write leaves its draft behind.
      for (const file of [draft, fileOf(id)]) rmSync(file, { force: true });
      return;
    }
    // Flushed, since the tokens that these replace are no longer valid.
    writeFileSync(draft, JSON.stringify(login), { mode: 0o600, flush: true });
    renameSync(draft, fileOf(id));
  }

  return {
    read: (id) => readLogin(fileOf(id)),
    listIds: () => listNames(folder).flatMap((name) => (name.endsWith(SUFFIX) ? [name.slice(0, -SUFFIX.length)] : [])),
    change(id, work) {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      return withFileLock(join(folder, `${id}.lock`), () => work((login) => write(id, login)));
    },
  };
}

const SUFFIX = ".json";

function readLogin(file: string): StoredLogin | undefined {
  try {
    return parseStoredLogin(JSON.parse(readFileSync(file, "utf8")));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT" || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function listNames(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
