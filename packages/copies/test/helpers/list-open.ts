import { readdirSync, readlinkSync } from "node:fs";

/** Lists the files below a folder that this process has open. */
export function listOpen(folder: string): readonly string[] {
  const paths = readdirSync("/proc/self/fd").flatMap((name) => {
    try {
      return [readlinkSync(`/proc/self/fd/${name}`)];
    } catch {
      // The listing's own.
      return [];
    }
  });
  return paths.filter((path) => path.startsWith(`${folder}/`));
}
