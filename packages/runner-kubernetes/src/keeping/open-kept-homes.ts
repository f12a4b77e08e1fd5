import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { BudgieError, type Owner, type SessionHomes, type SessionId } from "@budgie/core";
import { createKeptRecords } from "./kept-records.ts";
import { loadFile } from "./store-file.ts";

/** Opens the homes of sessions that have no Pod and are packed in a state directory, for commands that manage them. */
export function openKeptHomes({ owner, stateDir }: { readonly owner: Owner; readonly stateDir: string }): SessionHomes {
  const records = createKeptRecords(stateDir);
  return {
    async list() {
      const all = (await records.list()).records.filter(
        ({ isStale, packed }) => packed !== undefined && isStale !== true,
      );
      return Promise.all(
        all.map(async ({ created, id, owner: record }) => {
          const state = await owner.stateOf(record, "state-directory");
          return { id, created, home: records.folderOf(id), owner: state };
        }),
      );
    },
    remove: records.remove,
    async pack(id, to, options) {
      const { isStale, packed } = (await records.find(id)) ?? {};
      if (packed === undefined || isStale === true) throw notPackedError(id);
      const path = join(records.folderOf(id), packed.home.name);
      const { packKeptHome } = await import("./pack-kept-home.ts");
      const facts = await lstat(path).catch(() => undefined);
      const packedAt = facts?.mtime ?? new Date();
      return packKeptHome({ ...options, records: loadFile(path, packed.home), packedAt, to });
    },
    // A turn has a Pod.
    measure: async () => new Map(),
  };
}

function notPackedError(id: SessionId): BudgieError {
  return new BudgieError(
    "SESSION_NOT_FOUND",
    `Nothing is kept of a session "${id}". One that has a Pod is exported when its budgie has ended.`,
  );
}
