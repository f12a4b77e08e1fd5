import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { FilledEntry, WorkspaceCopy } from "@budgie/core/copies";
import type { KeepChanges } from "@budgie/copies/sets";
import { createWorkspaceCopies } from "../../src/copying/create-workspace-copies.ts";
import { createWorld, readTree, SESSION, type World } from "./create-world.ts";

const WISHES = { files: "all", include: [], worktreeInclude: false, exclude: [] } as const;
const NO_GIT = { configs: [], excludes: "/nonexistent", home: "/nonexistent" };

/** Opens the copies of a world, whose copy is a folder that was filled once. */
export async function openFilledPlace(files: Readonly<Record<string, string>>, keep?: KeepChanges) {
  const world: World = createWorld(files, keep);
  const { copy, directory, sets, stateDir } = world;
  let fills = 0;
  const volume: WorkspaceCopy = {
    fillId: async () => (fills === 0 ? undefined : `fill ${fills}`),
    async fill(entries) {
      await clear(copy);
      for await (const filled of entries) await put(copy, filled);
      return `fill ${++fills}`;
    },
    read: () => readTree(copy),
  };
  const folder = join(stateDir, "copies");
  const copies = createWorkspaceCopies({
    folder,
    wishes: WISHES,
    userGit: NO_GIT,
    openSets: async () => sets,
    collect: readAll,
  });
  const turn = { sessionId: SESSION, runId: "1", agent: "worker", directory };
  await copies.prepare(volume, turn);
  return {
    ...world,
    copies,
    volume,
    turn,
    refresh: () => copies.prepare(volume, { ...turn, refresh: true }),
    async collect() {
      const { manifest, startedMs } = (await copies.bases.load(SESSION)) ?? { manifest: { entries: [] } };
      return sets.collect({ ...turn, base: manifest, startedMs, read: (options) => volume.read(options) });
    },
  };
}

async function readAll(copy: Pick<WorkspaceCopy, "read">): Promise<undefined> {
  for await (const { content } of copy.read({ take: () => true })) content?.destroy();
}

/** Empties a folder. */
export async function clear(folder: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
}

/** Writes an entry as the copier does, which fails for one whose folder is missing. */
async function put(folder: string, { content = Buffer.of(), entry }: FilledEntry): Promise<void> {
  const path = join(folder, entry.path);
  if (entry.kind === "folder") mkdirSync(path);
  else if (entry.kind === "link") symlinkSync(entry.target, path);
  else writeFileSync(path, Buffer.isBuffer(content) ? content : await text(content), { mode: entry.mode });
}
