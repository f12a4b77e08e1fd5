import { statSync } from "node:fs";
import { resolve } from "node:path";
import type { FileTrust } from "../policy/file-trust.ts";
import { toShellCommand } from "../text/to-shell-command.ts";
import { findBellFiles } from "./find-bell-files.ts";

/** The program of the command in "notify", or the reason why it does not run. */
export type JudgedBell =
  | { readonly program: string }
  | {
      readonly program?: undefined;
      readonly kind: "missing" | "written";
      /** The rest of a sentence about the command */
      readonly trouble: string;
      /** A command that removes the cause */
      readonly todo?: string;
    };

export type JudgeBellOptions = {
  /** The environment and the home of the user */
  readonly host: { readonly env: NodeJS.ProcessEnv; readonly home: string };
  /** Knows the directories where agents could write */
  readonly trust: Pick<FileTrust, "findDirectory">;
};

/** Judges where a command leads, without starting it. */
export function judgeBell(command: readonly string[], { host, trust }: JudgeBellOptions): JudgedBell {
  const { files, program } = findBellFiles(command, { home: host.home, path: host.env["PATH"] });
  if (program === undefined) return judgeMissing(command[0] ?? "", host.home);
  const written = files.find((file) => trust.findDirectory(file) !== undefined);
  if (written === undefined) return { program };
  const remedy = "lies in a directory where agents could write. Move it to one of your own";
  return { kind: "written", trouble: `does not run: "${written}" ${remedy}` };
}

function judgeMissing(name: string, home: string): JudgedBell {
  const path = resolve(home, name);
  const found = name.includes("/") ? statSync(path, { throwIfNoEntry: false }) : undefined;
  if (found !== undefined) {
    const todo = found.isFile() ? { todo: toShellCommand(["chmod", "+x", path]) } : {};
    return { kind: "missing", trouble: `does not run: "${path}" is no file that you may execute`, ...todo };
  }
  return {
    kind: "missing",
    trouble: `does not run: there is no program "${name}". Install it, or correct its path`,
  };
}
