import { createHash } from "node:crypto";
import {
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { onTestFinished } from "vitest";
import { createOwner, type Owner } from "@budgie/core";
import type { FoundEntry, Manifest, ReadOptions, TreeEntry } from "@budgie/core/copies";
import { applyChanges, type ApplyResult } from "@budgie/copies/apply";
import {
  createChangeSets,
  type ChangeSet,
  type ChangeSets,
  type KeepChanges,
  type StoredSet,
} from "@budgie/copies/sets";
import { collectChangeSet } from "../../src/sets/collect-change-set.ts";
import type { SetBounds } from "../../src/sets/set-bounds.ts";

/** A directory of the host, a copy of it as an agent has it, and a state directory. */
export type World = {
  readonly directory: string;
  readonly copy: string;
  readonly outside: string;
  readonly stateDir: string;
  readonly sets: ChangeSets;
  readonly owner: Owner;
  readonly base: Manifest;
  /** The time before the directory was copied */
  readonly startedMs: number;
  /** Collects what the copy has now, which must be something. */
  readonly collect: (sessionId?: string) => Promise<StoredSet>;
};

/** Creates a world whose directory has these files. */
export function createWorld(files: Readonly<Record<string, string>>, keep?: KeepChanges): World {
  const top = realpathSync(mkdtempSync(join(tmpdir(), "budgie-copies-")));
  onTestFinished(() => rmSync(top, { recursive: true, force: true }));
  const [directory, copy, outside, stateDir] = ["work", "copy", "outside", "state"].map((name) => join(top, name)) as [
    string,
    string,
    string,
    string,
  ];
  for (const folder of [directory, outside, stateDir]) mkdirSync(folder);
  writeFiles(directory, files);
  writeFiles(outside, { "secret.txt": "of the user\n" });
  cpSync(directory, copy, { recursive: true, verbatimSymlinks: true });
  const startedMs = Date.now();
  const base = { entries: listTree(directory) };
  const sets = createChangeSets({ stateDir, ...(keep === undefined ? {} : { keep }) });
  onTestFinished(sets.close);
  const owner = createOwner({ stateDir });
  onTestFinished(() => owner.release());
  return {
    directory,
    copy,
    outside,
    stateDir,
    sets,
    owner,
    base,
    startedMs,
    async collect(sessionId = SESSION) {
      const collected = await sets.collect({
        base,
        read: () => readTree(copy),
        sessionId,
        agent: "worker",
        directory,
      });
      if (collected === undefined) throw new Error("The copy has no changes.");
      return collected;
    },
  };
}

export const SESSION = "7b6c3f0e-4a1f-4f0c-9c53-5f6b8f1a2d3e";

/** Writes files below a folder, with the folders that they are in. */
export function writeFiles(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

/** Lists a tree with the contents of its files, as text: folders end in "/", links show their target. */
export function showTree(folder: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    listTree(folder).map((entry) => {
      if (entry.kind === "folder") return [`${entry.path}/`, ""];
      return [
        entry.path,
        entry.kind === "link" ? `-> ${entry.target}` : readFileSync(join(folder, entry.path), "utf8"),
      ];
    }),
  );
}

/** Lists a tree as the manifest of a base does. */
export function listTree(folder: string, below = ""): readonly TreeEntry[] {
  const names = readdirSync(join(folder, below));
  const entries = names.flatMap((name): readonly TreeEntry[] => {
    const path = below === "" ? name : `${below}/${name}`;
    const found = lstatSync(join(folder, path));
    const mode = found.mode & 0o7777;
    if (found.isDirectory()) return [{ path, kind: "folder", mode }, ...listTree(folder, path)];
    if (found.isSymbolicLink()) return [{ path, kind: "link", target: readlinkSync(join(folder, path)) }];
    const content = readFileSync(join(folder, path));
    const digest = createHash("sha256").update(content).digest("hex");
    return [{ path, kind: "file", mode, size: content.length, digest }];
  });
  return entries.toSorted((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)));
}

/** Reads a tree as a runner reads a copy. */
export async function* readTree(folder: string): AsyncIterable<FoundEntry> {
  for (const entry of listTree(folder)) {
    if (entry.kind === "file") yield { entry, content: Readable.from([readFileSync(join(folder, entry.path))]) };
    else yield { entry };
  }
}

type Take = Required<ReadOptions>["take"];

/** Collects a world's copy with these entries after its own; before them, `beforeRest` has files taken as they were filled. */
export async function collectWith(
  { base, copy, directory, sets }: World,
  entries: readonly FoundEntry[],
  { beforeRest, ...bounds }: Partial<SetBounds> & { readonly beforeRest?: (take: Take) => void } = {},
): Promise<ChangeSet> {
  async function* read({ take }: { readonly take: Take }): AsyncIterable<FoundEntry> {
    yield* readTree(copy);
    beforeRest?.(take);
    yield* entries;
  }
  const asked = { base, read, objects: sets.objects, sessionId: SESSION, agent: "worker", directory, bounds };
  return (await collectChangeSet(asked)).set;
}

/** Applies a set of a world: nothing on a conflict, and nothing guarded. */
export function applyIn(
  { owner, sets }: Pick<World, "owner" | "sets">,
  id: string,
  over: Partial<Parameters<typeof applyChanges>[0]> = {},
): Promise<ApplyResult> {
  const fileTrust = { note: () => undefined };
  return applyChanges({ sets, owner, fileTrust, id, onConflict: "stop", withGuarded: false, ...over });
}
