import { join } from "node:path";
import { openBaseFiles, type BaseFiles } from "@budgie/copies/copying";
import type { ChangeSets } from "@budgie/copies/sets";
import type { ServerConfig } from "../config/server-config.ts";

/** The change sets of the state directory, opened when they are first needed. */
export type ChangeSetsOpener = {
  readonly open: () => Promise<ChangeSets>;
  /** The directories as they were copied */
  readonly bases: Pick<BaseFiles, "load">;
  readonly close: () => Promise<void>;
};

/** Creates the access to change sets. Nothing is loaded before the first use. */
export function createChangeSetsOpener(config: Pick<ServerConfig, "keepChangesMs" | "stateDir">): ChangeSetsOpener {
  let opened: Promise<ChangeSets> | undefined;

  async function load(): Promise<ChangeSets> {
    const { createChangeSets, DEFAULT_KEEP_CHANGES } = await import("@budgie/copies/sets");
    const keep = { ...DEFAULT_KEEP_CHANGES, maxAgeMs: config.keepChangesMs };
    return createChangeSets({ stateDir: config.stateDir, keep });
  }

  return {
    open: () => (opened ??= load()),
    bases: openBaseFiles(join(config.stateDir, "copies")),
    async close() {
      (await opened)?.close();
    },
  };
}
