import { accessSync, constants, realpathSync, statSync } from "node:fs";
import { delimiter, isAbsolute, join, resolve } from "node:path";

/** The files of the command in "notify", as far as they exist. */
export type BellFiles = {
  /** The absolute path of its program; `undefined` if it is nowhere on the PATH */
  readonly program: string | undefined;
  /** The real paths of the program, and of the files that the command's words name */
  readonly files: readonly string[];
};

/** Finds the program and the files that a command names. Its words are relative to the home, where it runs. */
export function findBellFiles(
  [command = "", ...words]: readonly string[],
  { home, path = "" }: { readonly home: string; readonly path?: string | undefined },
): BellFiles {
  // A relative folder of the PATH would be one of a project.
  const folders = path.split(delimiter).filter((folder) => isAbsolute(folder));
  const places = command.includes("/") ? [resolve(home, command)] : folders.map((folder) => join(folder, command));
  const program = places.find(isExecutable);
  const named = words.flatMap((word) => findFile(resolve(home, word)) ?? []);
  const real = program === undefined ? undefined : findFile(program);
  return { program, files: real === undefined ? named : [program ?? real, real, ...named] };
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** Returns the real path of a file; `undefined` if there is none. */
function findFile(path: string): string | undefined {
  try {
    return statSync(path).isFile() ? realpathSync.native(path) : undefined;
  } catch {
    return undefined;
  }
}
