import { createHash } from "node:crypto";
import { findGuard, hasSameScripts } from "@budgie/core/guard";
import type { HostFolder } from "../host/host-folder.ts";
import { readHostFile } from "../host/read-host-entry.ts";
import type { ObjectStore } from "../objects/object-store.ts";
import type { Change, MergedSides, Side } from "../sets/change-set.ts";
import { mergeTexts } from "./merge-texts.ts";

/** Merges a change with the host's version of its path, or returns why that is left to a person. */
export type MergeChange = (change: Change) => Promise<MergedSides | { readonly why: string }>;

// As large as the texts of which diffs are shown.
const LARGEST_TEXT_BYTES = 4 * 1024 * 1024;

/** Creates the merging of changes with a directory's texts. The merged contents are stored, and nothing is written into the directory. */
export function createMergeChange(host: HostFolder, objects: ObjectStore): MergeChange {
  async function readKept(side: Side | undefined): Promise<Buffer | undefined> {
    const isRead = side?.kind === "file" && side.kept && side.size <= LARGEST_TEXT_BYTES;
    return isRead ? objects.read(side.digest ?? "") : undefined;
  }

  /** Reads the three versions of a text, or returns why they are not merged. */
  async function read({ after, before, path }: Change): Promise<Texts | { readonly why: string }> {
    const ours = await host.at(path, (place) => readHostFile(place.path, LARGEST_TEXT_BYTES)).catch(() => undefined);
    const [base, theirs] = [await readKept(before), await readKept(after)];
    if (ours === undefined) return { why: "the directory's version cannot be read, or is too large" };
    if (base === undefined || theirs === undefined) return { why: "the old content is not kept, or is too large" };
    const isBinary = [base, ours.content, theirs].some((content) => content.includes(0));
    return isBinary ? { why: "it is binary" } : { base, ours: ours.content, theirs, mode: ours.mode };
  }

  return async (change) => {
    const texts = await read(change);
    if ("why" in texts) return texts;
    const merged = mergeContents(texts);
    if (merged === undefined) return { why: "both changed the same lines, or lines beside each other" };
    if (hasNewScripts(change, texts.ours, merged)) return { why: "its scripts would change" };
    const staged = await objects.stage([merged]);
    await staged?.keep();
    const isExecutable = (texts.mode & 0o111) !== 0;
    return {
      before: { ...toSide(texts.ours, isExecutable), kept: false },
      after: toSide(merged, findNewRight(change) ?? isExecutable),
    };
  };
}

type Texts = { readonly base: Buffer; readonly ours: Buffer; readonly theirs: Buffer; readonly mode: number };

function mergeContents({ base, ours, theirs }: Texts): Buffer | undefined {
  const [one, other] = [ours.toString("latin1"), theirs.toString("latin1")];
  const merged = mergeTexts({ base: base.toString("latin1"), one, other });
  return merged === undefined ? undefined : Buffer.from(merged, "latin1");
}

/** Returns true if a merge has other scripts than the directory: nobody has seen those that come of both. */
function hasNewScripts({ path }: Change, ours: Buffer, merged: Buffer): boolean {
  return findGuard(path, () => false) === "scripts" && !hasSameScripts(ours, merged);
}

/** Returns the execute bit that the agent gave or took; `undefined` if it did neither. */
function findNewRight({ after, before }: Change): boolean | undefined {
  const [old, fresh] = [before, after].map((side) => (side?.kind === "file" ? side.executable : undefined));
  return old === fresh ? undefined : fresh;
}

function toSide(content: Buffer, executable: boolean): Extract<Side, { kind: "file" }> {
  const digest = createHash("sha256").update(content).digest("hex");
  return { kind: "file", executable, size: content.length, digest, kept: true };
}
