import { isWithin } from "@budgie/core/policy";
import { findTakenPath } from "@budgie/sandbox/profile";

// The cluster would make the mount point in a folder that is emptied after each turn.
const EMPTIED = ["/tmp", "/dev"];

/**
 * Finds the path at which a Pod can show files of the user's home at their own paths: that of the home. `undefined` if the Pod needs it
 * for something else, or the workspace lies in it: nothing can be mounted into what is read-only.
 */
export function findShownPath(home: string, workspace: string): string | undefined {
  const others = [workspace, ...EMPTIED];
  const isFree = findTakenPath(home) === undefined && !others.some((other) => isWithin(home, other));
  return isFree && !isWithin(workspace, home) ? home : undefined;
}
