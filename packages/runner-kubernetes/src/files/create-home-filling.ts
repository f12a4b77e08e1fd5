import type { Command } from "@budgie/core";
import { createHomeSeeds } from "@budgie/sandbox/home";
import { findLoginNeed, openWithoutLogin, type Login, type LoginHome } from "@budgie/sandbox/login";

/** The files of commands and the host's login in the home of one Pod. */
export type HomeFilling = {
  /** Writes what a command needs and the home does not have yet */
  readonly fill: (command: Command, signal: AbortSignal) => Promise<void>;
  /** Removes the login and copies of the host's files, before the home is kept */
  readonly clear: (signal: AbortSignal) => Promise<void>;
};

/** Creates the filling of a home. */
export function createHomeFilling(home: LoginHome, login: Login | undefined): HomeFilling {
  const seeds = createHomeSeeds();
  const sync = login?.open(home) ?? openWithoutLogin(home);
  return {
    fill: (command, signal) =>
      seeds.fill(command, (entries) => sync.prepare(findLoginNeed(command, login), signal, entries)),
    async clear(signal) {
      const cleared = seeds.toCleared();
      if (cleared.length > 0) await home.archive.write(cleared);
      await sync.clear(signal);
    },
  };
}
