import { BudgieError, formatOption } from "@budgie/core";
import { reduceLogin } from "./access-token-login.ts";
import { SANDBOX } from "../profile/sandbox-paths.ts";
import type { Credentials } from "../profile/credentials.ts";
import type { ArchiveEntry, ArchiveFile, HostFile } from "../home/home-archive.ts";
import { COMPANIONS, DATABASE, LARGEST_DATABASE_BYTES } from "./kiro-database.ts";
import { loadKiroLogin, type KiroLogin } from "./kiro-login.ts";
import type { LoginHome, LoginNeed, LoginSync } from "./login.ts";
import { createScratchFolder } from "./scratch-folder.ts";
import { createSessionDatabase, renewSessionDatabase } from "./session-database.ts";

export type LoginSyncOptions = LoginHome & {
  readonly kiroDataDir: string;
  readonly credentials: Credentials;
};

const FOLDER = `${SANDBOX.home}/.local/share/kiro-cli`;
const FILE = `${FOLDER}/${DATABASE}`;

/** Creates the login of a session. */
export function createLoginSync(options: LoginSyncOptions): LoginSync {
  const { archive } = options;
  let { exists = false } = options;
  let prepared = false;
  let synced: string | undefined;
  // The home of an earlier budgie may, whatever that one was started with.
  let mayHoldLogin = exists;
  return {
    async prepare(need, signal, entries = []) {
      const login = await loadNeeded(options, need);
      if (login !== undefined && login.fingerprint !== synced) {
        // Only when the host's rows changed: a token that was renewed in the sandbox must not be overwritten.
        await (exists ? renewLogin(options, { login, entries, signal }) : createLogin(options, { login, entries }));
        synced = login.fingerprint;
        mayHoldLogin = true;
      } else if (need === "replaced" && mayHoldLogin) {
        await removeLogin(options, { entries, signal });
        synced = undefined;
        mayHoldLogin = false;
      } else if (!prepared || entries.length > 0) {
        await (exists ? archive.write(entries) : archive.create(entries));
      }
      prepared = true;
      exists = true;
    },
    async isCurrent(need) {
      if (need === "replaced") return !mayHoldLogin;
      return loadNeeded(options, need).then(
        (login) => login === undefined || login.fingerprint === synced,
        () => false,
      );
    },
    async clear(signal) {
      // budgie could not write back a login that it did not write.
      if (exists && hasHostLogin(options)) await removeLogin(options, { entries: [], signal });
    },
  };
}

function hasHostLogin({ credentials }: LoginSyncOptions): boolean {
  return credentials === "full" || credentials === "access-token";
}

async function loadNeeded(options: LoginSyncOptions, need: LoginNeed): Promise<KiroLogin | undefined> {
  if (need === "required") return loadLogin(options);
  if (need !== "short") return undefined;
  const { credentials } = options;
  const login = await loadLogin({ ...options, credentials: credentials === "full" ? "access-token" : credentials });
  // It differs from the whole login of the same host, which it replaces in a home.
  return login && { ...login, fingerprint: `${login.fingerprint} short` };
}

/** Loads the part of the host's login that `credentials` permits: nothing else ever reaches the session's database. */
async function loadLogin({ credentials, kiroDataDir }: LoginSyncOptions): Promise<KiroLogin | undefined> {
  switch (credentials) {
    case "full":
      return (await loadKiroLogin(kiroDataDir)) ?? refuse(`Run "kiro-cli login", or set KIRO_API_KEY.`);
    case "access-token": {
      const login = await loadKiroLogin(kiroDataDir);
      if (login !== undefined) return reduceLogin(login, new Date());
      return refuse(`Run "kiro-cli login", or set KIRO_API_KEY and choose ${formatOption("credentials")} api-key.`);
    }
    case "api-key":
    case "none":
      return undefined;
  }
}

/** A login to write, and the entries to write with it in one call of the engine. */
type Writing = { readonly login: KiroLogin; readonly entries: readonly ArchiveEntry[] };

async function createLogin({ archive, scratchDir }: LoginSyncOptions, { entries, login }: Writing): Promise<void> {
  const content = await createSessionDatabase(login, scratchDir);
  await archive.create([...entries, { path: FILE, content, mode: 0o600 }, toReadable(content)]);
}

type Renewing = Writing & { readonly signal: AbortSignal };

async function renewLogin(options: LoginSyncOptions, { entries, login, signal }: Renewing): Promise<void> {
  const { archive, scratchDir } = options;
  const host = await createSessionDatabase(login, scratchDir);
  await using scratch = createScratchFolder(scratchDir);
  const folder = scratch.path;
  // If the agent removed the database, there is no conversation to keep.
  const isThere = await saveDatabase(archive, folder);
  const content = isThere ? await renewSessionDatabase({ folder, host, signal }) : host;
  await archive.write([...entries, ...listDatabaseFiles(content), toReadable(host)]);
}

/** Replaces the database by a copy without a login, and the readable copy by an empty file, which an archive cannot delete. */
async function removeLogin(options: LoginSyncOptions, { entries, signal }: Omit<Renewing, "login">): Promise<void> {
  const { archive, scratchDir } = options;
  await using scratch = createScratchFolder(scratchDir);
  const folder = scratch.path;
  const isThere = await saveDatabase(archive, folder);
  const content = isThere && (await renewSessionDatabase({ folder, host: await loadForm(options), signal }));
  signal.throwIfAborted();
  await archive.write([...entries, ...(content ? listDatabaseFiles(content) : []), toReadable(Buffer.alloc(0))]);
}

function toReadable(content: Buffer): ArchiveFile {
  return { path: `${SANDBOX.auth}/${DATABASE}`, content, mode: 0o400 };
}

/** Creates a database with the host's schema only, which may contain more than names, types and keys. */
async function loadForm({ kiroDataDir, scratchDir }: LoginSyncOptions): Promise<Buffer | undefined> {
  const login = await loadKiroLogin(kiroDataDir).catch(() => undefined);
  return login && createSessionDatabase({ ...login, auth: [], state: [] }, scratchDir);
}

/**
 * Returns the database's files. An archive cannot delete files, and SQLite would replay an old log over a new database, so empty companions
 * replace the old ones.
 */
function listDatabaseFiles(content: Buffer | HostFile): readonly ArchiveFile[] {
  const emptied = COMPANIONS.map((ending) => ({ path: FILE + ending, content: Buffer.alloc(0), mode: 0o600 }));
  return [{ path: FILE, content, mode: 0o600 }, ...emptied];
}

/** Saves the database to a folder; `false` if there is none. */
async function saveDatabase(archive: LoginHome["archive"], to: string): Promise<boolean> {
  const names = [DATABASE, ...COMPANIONS.map((ending) => DATABASE + ending)];
  const saved = await archive.saveFiles(FOLDER, names, { to, maxBytes: LARGEST_DATABASE_BYTES });
  return saved.has(DATABASE);
}

function refuse(remedy: string): never {
  throw new BudgieError("LOGIN_REQUIRED", `Kiro has no login on this machine to hand to the sandbox. ${remedy}`);
}
