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

  return async (change) => {
    const { after, before, path } = change;
    if (before?.kind !== "file" || after?.kind !== "file") return { why: "only changed files are merged" };
    const found = await host.at(path, (place) => readHostFile(place.path, LARGEST_TEXT_BYTES)).catch(() => undefined);
    if (found === undefined) return { why: "the directory's version is no file that can be merged" };
    const [base, theirs] = [await readKept(before), await readKept(after)];
    if (base === undefined || theirs === undefined) return { why: "the old content is not kept" };
    const { content: ours, mode } = found;
    if ([base, ours, theirs].some((content) => content.includes(0))) return { why: "it is binary" };
    const merged = mergeContents(base, ours, theirs);
    if (merged === undefined) return { why: "both changed the same lines, or lines beside each other" };
    // A person has seen the agent's scripts, and nobody those that come of both.
    if (change.guard !== "person" && isScripts(path) && !hasSameScripts(ours, merged))
      return { why: "its scripts would change" };
    const staged = await objects.stage([merged]);
    await staged?.keep();
    const executable = (mode & 0o111) !== 0;
    return {
      before: { ...toSide(ours, executable), kept: false },
      after: toSide(merged, after.executable === before.executable ? executable : after.executable),
    };
  };
}

function mergeContents(base: Buffer, ours: Buffer, theirs: Buffer): Buffer | undefined {
  const [one, other] = [ours.toString("latin1"), theirs.toString("latin1")];
  const merged = mergeTexts({ base: base.toString("latin1"), one, other });
  return merged === undefined ? undefined : Buffer.from(merged, "latin1");
}

function isScripts(path: string): boolean {
  return findGuard(path, () => false) === "scripts";
}

function toSide(content: Buffer, executable: boolean): Extract<Side, { kind: "file" }> {
  const digest = createHash("sha256").update(content).digest("hex");
  return { kind: "file", executable, size: content.length, digest, kept: true };
}
