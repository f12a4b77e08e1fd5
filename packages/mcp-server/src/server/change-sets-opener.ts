import { join } from "node:path";
import type { Owner } from "@budgie/core";
import { openBaseFiles, type BaseFiles } from "@budgie/copies/copying";
import type { ChangeSets } from "@budgie/copies/sets";
import type { ServerConfig } from "../config/server-config.ts";

/** The change sets of the state directory, opened when they are first needed. */
export type ChangeSetsOpener = {
  readonly open: () => Promise<ChangeSets>;
  /** The directories as they were copied */
  readonly bases: Pick<BaseFiles, "load">;
  /** Takes back applies that were interrupted, and refuses a directory in which one is under way. Returns sentences for the user */
  readonly settle: (directory: string) => Promise<readonly string[]>;
  readonly close: () => Promise<void>;
};

/** Creates the access to change sets. Nothing is loaded before the first use. */
export function createChangeSetsOpener(
  config: Pick<ServerConfig, "keepChangesMs" | "stateDir">,
  owner: Owner,
): ChangeSetsOpener {
  const bases = openBaseFiles(join(config.stateDir, "copies"));
  let opened: Promise<ChangeSets> | undefined;

  async function load(): Promise<ChangeSets> {
    const { createChangeSets, DEFAULT_KEEP_CHANGES } = await import("@budgie/copies/sets");
    const keep = { ...DEFAULT_KEEP_CHANGES, maxAgeMs: config.keepChangesMs };
    return createChangeSets({
      stateDir: config.stateDir,
      keep,
      // While a copy is filled again nothing else has the agent's work.
      isNeeded: async ({ id, sessionId }) => (await bases.load(sessionId))?.refreshing === id,
    });
  }

  const open = (): Promise<ChangeSets> => (opened ??= load());

  return {
    open,
    async settle(directory) {
      const { settleApplies } = await import("@budgie/copies/apply");
      return settleApplies({ sets: await open(), owner }, directory);
    },
    bases,
    async close() {
      (await opened)?.close();
    },
  };
}
