import { BudgieError } from "@budgie/core";
import { parseDuration } from "@budgie/core/text";
import type { RunChoice } from "@budgie/store";
import type { Config } from "../../config/config.ts";
import type { Host } from "@budgie/mcp-server";
import { stringifySafely } from "../../terminal/stringify-safely.ts";
import { withRunArchive } from "./with-run-archive.ts";

export type RemoveRunsOptions = {
  readonly all: boolean;
  /** A duration */
  readonly olderThan?: string;
  readonly json: boolean;
};

/** Runs `budgie runs rm`: removes turns and their answers from the log. */
export async function removeRuns(
  config: Config,
  { ids, ...options }: RemoveRunsOptions & { readonly ids: readonly string[] },
  { stdout }: Host,
): Promise<number> {
  const choice = chooseRuns(ids, options);
  const removed = await withRunArchive(config, (archive) => archive.remove(choice));
  const count = removed.length === 1 ? "1 run" : `${removed.length} runs`;
  stdout.write(options.json ? stringifySafely({ removed }) : `Removed ${count}.\n`);
  return 0;
}

function chooseRuns(ids: readonly string[], { all, olderThan }: RemoveRunsOptions): RunChoice {
  const ways = [ids.length > 0, all, olderThan !== undefined].filter((isWay) => isWay);
  if (ways.length !== 1) {
    throw new BudgieError("CONFIG_INVALID", "Expected exactly one of: ids of runs, --all, --older-than.");
  }
  if (olderThan !== undefined) return { olderThanMs: parseDuration(olderThan, "--older-than") };
  return all ? "all" : { ids };
}
