import { createOwner } from "@budgie/core";
import { createRunArchive, type RunArchive } from "@budgie/store";
import type { Config } from "../../config/config.ts";

/** Looks into the run log, and closes it. */
export async function withRunArchive<T>(
  { stateDir }: Pick<Config, "stateDir">,
  work: (archive: RunArchive) => Promise<T>,
): Promise<T> {
  const archive = createRunArchive({ stateDir, owner: createOwner({ stateDir }) });
  try {
    return await work(archive);
  } finally {
    archive.close();
  }
}
