import type { HostEntry } from "../host/read-host-entry.ts";
import type { Side } from "./change-set.ts";

/** Returns true if the host has an entry as it is on one side of a change; `undefined` for no entry. */
export function isSide(side: Side | undefined, entry: HostEntry): boolean {
  if (side === undefined || entry.kind === "missing") return side === undefined && entry.kind === "missing";
  if (side.kind === "folder") return entry.kind === "folder";
  if (side.kind === "link") return entry.kind === "link" && entry.target === side.target;
  if (entry.kind !== "file" || entry.digest === undefined || entry.digest !== side.digest) return false;
  return ((entry.mode & 0o111) !== 0) === side.executable;
}
