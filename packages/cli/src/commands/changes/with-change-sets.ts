import { createOwner, type Owner } from "@budgie/core";
import { recoverApplies } from "@budgie/copies/apply";
import { createChangeSets, DEFAULT_KEEP_CHANGES, type ChangeSets } from "@budgie/copies/sets";
import { escapeForTerminal } from "@budgie/core/text";
import type { Host } from "@budgie/mcp-server";
import type { Config } from "../../config/config.ts";

/** Runs work with the change sets of the state directory, once applies that were interrupted are taken back, and closes them. */
export async function withChangeSets<T>(
  { keepChangesMs, stateDir }: Pick<Config, "keepChangesMs" | "stateDir">,
  host: Pick<Host, "report">,
  work: (sets: ChangeSets, owner: Owner) => Promise<T>,
): Promise<T> {
  const sets = createChangeSets({ stateDir, keep: { ...DEFAULT_KEEP_CHANGES, maxAgeMs: keepChangesMs } });
  const owner = createOwner({ stateDir });
  try {
    for (const line of await recoverApplies({ sets, owner })) host.report(escapeForTerminal(line));
    return await work(sets, owner);
  } finally {
    sets.close();
    await owner.release();
  }
}
