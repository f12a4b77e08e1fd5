import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** Finds the file that a shell would run for a command; `undefined` if there is none. */
export function findOnPath(command: string, path = ""): string | undefined {
  const candidates = command.includes("/") ? [command] : path.split(delimiter).map((folder) => join(folder, command));
  return candidates.find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
