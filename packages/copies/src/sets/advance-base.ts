import type { Manifest, TreeEntry } from "@budgie/core/copies";
import type { Change, Side } from "./change-set.ts";

/** Returns a base with these changes in it: what was applied is not collected again. */
export function advanceBase(base: Manifest, applied: readonly Change[]): Manifest {
  const entries = new Map(base.entries.map((entry) => [entry.path, entry]));
  for (const { after, path } of applied) {
    const entry = after === undefined ? undefined : toEntry(path, after);
    if (entry === undefined) entries.delete(path);
    else entries.set(path, entry);
  }
  const sorted = [...entries.values()].toSorted((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)));
  return { entries: sorted };
}

function toEntry(path: string, side: Side): TreeEntry | undefined {
  if (side.kind === "folder") return { path, kind: "folder", mode: 0o755 };
  if (side.kind === "link") return { path, kind: "link", target: side.target };
  const { digest, executable, size } = side;
  return digest === undefined ? undefined : { path, kind: "file", mode: executable ? 0o755 : 0o644, size, digest };
}
