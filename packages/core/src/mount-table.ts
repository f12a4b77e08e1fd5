import { readFile } from "node:fs/promises";
import { BudgieError } from "./errors.ts";

/** A part of a file system, and where it is mounted. */
export type Mount = {
  /** The file system's: two mounts of the same one show the same files */
  readonly device: string;
  /** The directory in that file system */
  readonly root: string;
  readonly point: string;
};

const FILE = "/proc/self/mountinfo";

/** Loads what is mounted, or throws `WORKSPACE_INVALID` if the kernel does not say; only Linux shows a directory twice. */
export async function loadMounts(): Promise<readonly Mount[]> {
  if (process.platform !== "linux") return [];
  try {
    return parseMounts(await readFile(FILE, "utf8"));
  } catch (cause) {
    throw new BudgieError(
      "WORKSPACE_INVALID",
      `"${FILE}" cannot be read (${(cause as NodeJS.ErrnoException).code}), so nobody can tell what a directory shows. Mount /proc.`,
      { cause },
    );
  }
}

/** Parses `/proc/self/mountinfo`; what is no directory, such as a namespace, is left out. */
export function parseMounts(text: string): readonly Mount[] {
  return text
    .split("\n")
    .map((line) => line.split(" ", 5).map(unescape))
    .map(([, , device = "", root = "", point = ""]) => ({ device, root, point }))
    .filter(({ point, root }) => root.startsWith("/") && point.startsWith("/"));
}

/** Blanks and backslashes are written as octal numbers. */
function unescape(field: string): string {
  return field.replace(/\\([0-7]{3})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 8)));
}
