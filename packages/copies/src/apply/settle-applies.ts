import { lstat } from "node:fs/promises";
import { underWay } from "@budgie/store";
import { recoverApplies, type RecoverOptions } from "./recover-applies.ts";

/**
 * Takes back applies that were interrupted, so that a directory is read as its user left it. Returns one sentence for each. Throws
 * `INPUT_INVALID` while an apply is under way in the directory.
 */
export async function settleApplies(options: RecoverOptions, directory: string): Promise<readonly string[]> {
  const told = await recoverApplies(options);
  const journals = await options.sets.archive.journals();
  if (journals.length === 0) return told;
  const { dev, ino } = await lstat(directory, { bigint: true });
  if (journals.some(({ root }) => root === `${dev}:${ino}`)) throw underWay(directory);
  return told;
}
