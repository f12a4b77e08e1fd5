import { readdirSync, type Dirent } from "node:fs";
import { join } from "node:path";
import { matchesGlob } from "@budgie/core/text";

/**
 * Finds the paths that match an absolute glob of `*`, `?` and `**`. A pattern matches no name that begins with a dot, and `**` does not
 * enter symlinked folders.
 */
export function expandGlob(glob: string, mostEntries: number): readonly string[] {
  const found = new Set<string>();
  let entriesLeft = mostEntries;

  function read(folder: string): readonly Dirent[] {
    const entries = entriesLeft > 0 ? list(folder) : [];
    entriesLeft -= entries.length;
    return entries.filter(({ name }) => !name.startsWith("."));
  }

  function visit(path: string, [name, ...rest]: readonly string[]): void {
    if (name === undefined) found.add(path);
    else if (name === "**") {
      visit(path, rest.length === 0 ? ["*"] : rest);
      for (const entry of read(path)) if (entry.isDirectory()) visit(join(path, entry.name), [name, ...rest]);
    } else if (isPattern(name)) {
      for (const entry of read(path)) if (matchesGlob(name, entry.name)) visit(join(path, entry.name), rest);
    } else visit(join(path, name), rest);
  }

  visit("/", glob.split("/").slice(1));
  return [...found];
}

/** Returns the part of a glob before its first pattern. */
export function fixedPart(glob: string): string {
  const names = glob.split("/");
  const first = names.findIndex(isPattern);
  return first === -1 ? glob : names.slice(0, first).join("/");
}

function isPattern(name: string): boolean {
  return /[*?]/.test(name);
}

function list(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}
