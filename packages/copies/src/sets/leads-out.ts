import { posix } from "node:path";

/**
 * Returns true if a symlink may lead out of its directory on the host: it is absolute, climbs above the directory, climbs after it went
 * down, or goes through another symlink.
 */
export function leadsOut(path: string, target: string, isLink: (path: string) => boolean): boolean {
  if (target.startsWith("/") || target.includes("\0")) return true;
  const steps = target.split("/").filter((step) => step !== "" && step !== ".");
  const firstDown = steps.findIndex((step) => step !== "..");
  // The folder above a symlinked one is elsewhere.
  if (firstDown !== -1 && steps.slice(firstDown).includes("..")) return true;
  const reached = posix.normalize(posix.join(posix.dirname(path), steps.join("/") || "."));
  if (reached === ".." || reached.startsWith("../")) return true;
  const names = reached.split("/");
  return names.some((_, index) => isLink(names.slice(0, index + 1).join("/")));
}
