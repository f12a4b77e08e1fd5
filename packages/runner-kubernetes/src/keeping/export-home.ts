import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { BudgieError, type SessionId } from "@budgie/core";
import type { KeptRecords } from "./kept-records.ts";
import type { KeptHomePacking } from "./pack-kept-home.ts";
import { loadFile } from "./store-file.ts";

/** The home to export. */
export type HomeExport = Omit<KeptHomePacking, "packedAt" | "records"> & { readonly id: SessionId };

/**
 * Writes a home that is packed as a tar, and resolves to a sentence for each omitted entry. Throws `SESSION_NOT_FOUND` if there is none, and
 * `SESSION_UNUSABLE` if a Pod has a newer one
 */
export async function exportHome(records: KeptRecords, { id, ...packing }: HomeExport): Promise<readonly string[]> {
  const record = await records.find(id);
  if (record === undefined) throw missingError(id);
  const { isStale, packed } = record;
  if (packed === undefined || isStale === true) throw inPodError(id);
  const path = join(records.folderOf(id), packed.home.name);
  const facts = await lstat(path).catch(() => undefined);
  // Only the commands that export need the libraries.
  const { packKeptHome } = await import("./pack-kept-home.ts");
  return packKeptHome({ ...packing, records: loadFile(path, packed.home), packedAt: facts?.mtime ?? new Date() });
}

function missingError(id: SessionId): BudgieError {
  return new BudgieError("SESSION_NOT_FOUND", `Nothing is kept of a session "${id}" in budgie's state directory.`);
}

function inPodError(id: SessionId): BudgieError {
  return new BudgieError(
    "SESSION_UNUSABLE",
    `The home of the session "${id}" is in its Pod. Export it when its budgie, if that keeps sessions, has ended.`,
  );
}
