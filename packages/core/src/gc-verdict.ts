import type { GcPolicy, SessionRecord } from "./runner.ts";

/** Tells why a thing of such an owner must stay, or `undefined` if it may go: only a dead owner's things ever do. */
export function toReasonToKeep(
  owner: SessionRecord["owner"],
  created: Date,
  { olderThanMs }: GcPolicy,
): string | undefined {
  switch (owner) {
    case "own":
      return "this process owns it";
    case "live":
      return "its owner lives";
    case "foreign":
      return "its owner is on another machine, which cannot be asked";
    case "dead":
      return Date.now() - created.getTime() < olderThanMs ? "it is younger than asked for" : undefined;
  }
}
