import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of all packages. */
export const PACKAGES = fileURLToPath(new URL("../../../", import.meta.url));

/** Lists the paths of code files in a folder, relative to it. */
export function listSources(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => /\.(ts|mjs)$/.test(file))
    .toSorted();
}

/** Reads the code files of a folder, by their paths relative to it. */
export function readSources(folder: string): ReadonlyMap<string, string> {
  return new Map(listSources(folder).map((file) => [file, readFileSync(join(folder, file), "utf8")]));
}
