import { BudgieError, type Command } from "@budgie/core";
import type { ArchiveEntry, HomeArchive } from "../home/home-archive.ts";

/** A login of the host that sandboxes get a copy of, created by a function such as `createKiroLogin`. */
export type Login = {
  /** The name by which a command asks for it in `Command.login` */
  readonly name: string;
  /** Returns how much a command with this environment needs it */
  readonly toNeed: (env: Command["env"]) => LoginNeed;
  /** Opens it for one session */
  readonly open: (home: LoginHome) => LoginSync;
  /** Finds the part that a sandbox would get with these variables of the host; throws if there is none. Changes nothing */
  readonly inspect: (hostEnv: NodeJS.ProcessEnv) => Promise<LoginFacts>;
};

/** The part of a login that a sandbox gets: a copy of the file that holds it, a variable, or nothing if the user wants that. */
export type LoginFacts =
  | { readonly from: "file"; readonly updated: Date; readonly expires: Date | undefined }
  | { readonly from: "variable" | "nothing" };

/** A session's home, as far as a login writes to it. */
export type LoginHome = {
  readonly archive: HomeArchive;
  /** A private folder of the host for copies that exist for some milliseconds */
  readonly scratchDir: string;
  /** True if an agent may have used the home; default false */
  readonly exists?: boolean | undefined;
};

/**
 * A command's need of the host's login: `replaced` if it has another one, beside which its home may hold none; `short` if it may get only the
 * part that ends by itself.
 */
export type LoginNeed = "none" | "replaced" | "required" | "short";

/** The login in a session's home, which is kept in sync with the host's. */
export type LoginSync = {
  /** Prepares the home for a command, and writes its `entries`. Throws `LOGIN_REQUIRED`, `SESSION_UNUSABLE`, or the reason of `signal`. */
  prepare(need: LoginNeed, signal: AbortSignal, entries?: readonly ArchiveEntry[]): Promise<void>;
  /** Returns false if a command would be given another login now than the one in the home. */
  isCurrent(need: LoginNeed): Promise<boolean>;
  /** Removes the login from the home, unless `signal` aborts before that is written. */
  clear(signal: AbortSignal): Promise<void>;
};

/** Opens a home for commands that need no login. */
export function openWithoutLogin({ archive, exists = false }: LoginHome): LoginSync {
  let isPrepared = false;
  let isUsed = exists;
  return {
    async prepare(_need, _signal, entries = []) {
      if (isPrepared && entries.length === 0) return;
      await (isUsed ? archive.write(entries) : archive.create(entries));
      [isPrepared, isUsed] = [true, true];
    },
    isCurrent: () => Promise.resolve(true),
    clear: () => Promise.resolve(),
  };
}

/** Finds how much of the runner's login a command needs. Throws `LOGIN_REQUIRED` for a login that the runner was not given. */
export function findLoginNeed({ env, isShortLogin, login: name }: Command, login: Login | undefined): LoginNeed {
  if (name === undefined) return "none";
  if (login?.name === name) {
    const need = login.toNeed(env);
    return need === "required" && isShortLogin === true ? "short" : need;
  }
  throw new BudgieError(
    "LOGIN_REQUIRED",
    `The command needs the login ${JSON.stringify(name)}, which this runner was not given. Give it as the option "login".`,
  );
}
