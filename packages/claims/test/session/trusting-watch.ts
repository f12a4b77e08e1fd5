import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import type { TurnDependencies } from "@budgie/core/turn";

type Watch = NonNullable<TurnDependencies["watch"]>;

/** Creates a watch that goes by paths, follows symlinks and git's own references, and reports every file that it finds. */
export function createTrustingWatch(beforeOpening: (name: string) => void): Watch {
  return (directory) => {
    list(directory, beforeOpening);
    return {
      ready: Promise.resolve(),
      async findChanges() {
        return { changedExecutablePaths: list(directory, beforeOpening), gitChanges: [], warnings: [] };
      },
    };
  };
}

function list(folder: string, beforeOpening: (name: string) => void): readonly string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    const kind = findKind(path);
    if (kind !== "folder") return [path, ...(kind === "file" ? listNamed(path) : [])];
    beforeOpening(name);
    return list(path, beforeOpening);
  });
}

/** Returns the kind of what a path resolves to; `undefined` for a dangling symlink, and for more symlinks than the kernel follows. */
function findKind(path: string): "file" | "folder" | undefined {
  try {
    return statSync(path).isDirectory() ? "folder" : "file";
  } catch {
    return undefined;
  }
}

/** Lists the files to which a git file refers. */
function listNamed(path: string): readonly string[] {
  const [, named] = /^(?:gitdir: |\[include\]\n\tpath = )?(\/.+)\n$/.exec(readFileSync(path, "utf8")) ?? [];
  if (named === undefined) return [];
  const target = resolve(named);
  return statSync(target).isDirectory() ? list(target, () => undefined) : [readFileSync(target, "utf8")];
}
