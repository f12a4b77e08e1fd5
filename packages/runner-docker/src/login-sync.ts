import { BudgieError } from "@budgie/core";
import { toAccessTokenLogin } from "./access-token-login.ts";
import { SANDBOX } from "./container-options.ts";
import type { Credentials } from "./credentials.ts";
import type { ArchiveFile, HomeArchive } from "./home-archive.ts";
import { DATABASE, loadKiroLogin, type KiroLogin } from "./kiro-login.ts";
import {
  clearSessionDatabase,
  COMPANIONS,
  createSessionDatabase,
  updateSessionDatabase,
  type DatabaseFiles,
} from "./session-database.ts";

export type LoginSyncOptions = {
  readonly archive: HomeArchive;
  readonly kiroDataDir: string;
  readonly credentials: Credentials;
  /** A private folder of the host for copies that live some milliseconds */
  readonly scratchDir: string;
  /** Whether an agent may have been in the home; default false */
  readonly exists?: boolean | undefined;
};

/** Whether a command gets the host's login, and whether it can do without. */
export type LoginNeed = "none" | "if-any" | "required";

/** Keeps the login in one session's home as new as the host's. */
export type LoginSync = {
  /** Makes the home ready for a command, or throws `LOGIN_REQUIRED` or `SESSION_UNUSABLE`. */
  prepare(need: LoginNeed): Promise<void>;
  /** Takes the login out of the database in the home, unless `signal` comes before that is written. */
  clear(signal: AbortSignal): Promise<void>;
};

const FOLDER = `${SANDBOX.home}/.local/share/kiro-cli`;
const FILE = `${FOLDER}/${DATABASE}`;
// A long conversation may be tens of megabytes.
const LARGEST_DATABASE_BYTES = 256 * 1024 * 1024;

/** Creates the login of a session. */
export function createLoginSync(options: LoginSyncOptions): LoginSync {
  const { archive } = options;
  let { exists = false } = options;
  let prepared = false;
  let synced: string | undefined;
  return {
    async prepare(need) {
      const login = await loadNeeded(options, need);
      if (login !== undefined && login.fingerprint !== synced) {
        // Only when the host's rows changed: a token that was renewed inside must not be undone.
        await writeLogin(options, login, exists);
        synced = login.fingerprint;
      } else if (!prepared) {
        await (exists ? archive.write([]) : archive.create([]));
      }
      prepared = true;
      exists = true;
    },
    async clear(signal) {
      // What budgie did not put in, it could not put in again.
      if (!exists || !hasHostLogin(options)) return;
      const files = await readDatabase(options);
      if (signal.aborted || !files.has("")) return;
      const content = await clearSessionDatabase(files, options.scratchDir);
      if (!signal.aborted) await archive.write(toDatabaseFiles(content));
    },
  };
}

function hasHostLogin({ credentials }: LoginSyncOptions): boolean {
  return credentials === "full" || credentials === "access-token";
}

async function loadNeeded(options: LoginSyncOptions, need: LoginNeed): Promise<KiroLogin | undefined> {
  switch (need) {
    case "none":
      return undefined;
    case "if-any":
      // One that cannot be read must not stop a command that has an API key.
      return loadLogin(options).catch(() => undefined);
    case "required":
      return loadLogin(options);
  }
}

/** Loads what of the host's login may be handed over: nothing else ever reaches the session's database. */
async function loadLogin({ credentials, kiroDataDir }: LoginSyncOptions): Promise<KiroLogin | undefined> {
  switch (credentials) {
    case "full":
      return (await loadKiroLogin(kiroDataDir)) ?? refuse(`Run "kiro-cli login", or set KIRO_API_KEY.`);
    case "access-token": {
      const login = await loadKiroLogin(kiroDataDir);
      if (login !== undefined) return toAccessTokenLogin(login, new Date());
      return refuse(`Run "kiro-cli login", or set KIRO_API_KEY and choose --credentials api-key.`);
    }
    case "api-key":
    case "none":
      return undefined;
  }
}

async function writeLogin(options: LoginSyncOptions, login: KiroLogin, exists: boolean): Promise<void> {
  const snapshot = await createSessionDatabase(login, options.scratchDir);
  const forReading: ArchiveFile = { path: `${SANDBOX.auth}/${DATABASE}`, content: snapshot, mode: 0o400 };
  if (!exists) return options.archive.create([{ path: FILE, content: snapshot, mode: 0o600 }, forReading]);
  const content = await updated(options, login, snapshot);
  return options.archive.write([...toDatabaseFiles(content), forReading]);
}

/** Archives cannot delete, and SQLite would play an old log back over a new database: empty ones take their place. */
function toDatabaseFiles(content: Buffer): readonly ArchiveFile[] {
  const emptied = COMPANIONS.map((ending) => ({ path: FILE + ending, content: Buffer.alloc(0), mode: 0o600 }));
  return [{ path: FILE, content, mode: 0o600 }, ...emptied];
}

async function updated(options: LoginSyncOptions, login: KiroLogin, snapshot: Buffer): Promise<Buffer> {
  const files = await readDatabase(options);
  // The agent may have removed its database, and then there is no conversation to keep.
  return files.has("") ? updateSessionDatabase(files, login, options.scratchDir) : snapshot;
}

async function readDatabase({ archive }: LoginSyncOptions): Promise<DatabaseFiles> {
  const names = [DATABASE, ...COMPANIONS.map((ending) => DATABASE + ending)];
  const found = await archive.readFiles(FOLDER, names, LARGEST_DATABASE_BYTES);
  return new Map([...found].map(([name, bytes]) => [name.slice(DATABASE.length), bytes]));
}

function refuse(remedy: string): never {
  throw new BudgieError("LOGIN_REQUIRED", `Kiro has no login on this machine to hand to the sandbox. ${remedy}`);
}
