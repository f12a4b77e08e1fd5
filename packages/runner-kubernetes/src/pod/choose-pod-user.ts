import { randomInt } from "node:crypto";
import type { PodShape } from "./pod-shape.ts";

// Ids that no image and no person has.
const FIRST_UID = 100_000;
const LAST_UID = 2_000_000_000;

/** Chooses the user of a Pod. The kernel counts the processes of a user on the whole node, and an agent's limit is for its own. */
export function choosePodUser(): PodShape["user"] {
  const id = randomInt(FIRST_UID, LAST_UID);
  return { uid: id, gid: id };
}
