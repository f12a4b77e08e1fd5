import { readFile } from "node:fs/promises";
import { BudgieError } from "../errors.ts";

/** One mount of a mount table. */
export type Mount = {
  /** The mount id, as in a descriptor's `fdinfo` */
  readonly id: string;
  /** Device number of the file system; mounts with the same number show the same files */
  readonly device: string;
  /** The mounted directory, as a path in that file system */
  readonly root: string;
  readonly point: string;
  readonly isReadOnly: boolean;
};

const FILE = "/proc/self/mountinfo";

/** Loads the mounts of this process, or throws `WORKSPACE_INVALID` if `/proc` cannot be read. Empty where there are no bind mounts. */
export async function loadMounts(): Promise<readonly Mount[]> {
  if (process.platform !== "linux") return [];
  try {
    return parseMounts(await readFile(FILE, "utf8"));
  } catch (cause) {
    throw new BudgieError(
      "WORKSPACE_INVALID",
      `"${FILE}" cannot be read (${(cause as NodeJS.ErrnoException).code}), so budgie cannot tell which directories are mounted elsewhere too. Mount /proc.`,
      { cause },
    );
  }
}

/** Parses a `mountinfo`. Mounts without a path, such as namespaces, are left out. */
export function parseMounts(text: string): readonly Mount[] {
  return text
    .split("\n")
    .map((line) => line.split(" ", 6).map(unescape))
    .map(([id = "", , device = "", root = "", point = "", options = ""]) => {
      return { id, device, root, point, isReadOnly: options.split(",").includes("ro") };
    })
    .filter(({ point, root }) => root.startsWith("/") && point.startsWith("/"));
}

/** Decodes spaces, tabs, line feeds and backslashes, which are written as octal numbers. */
function unescape(field: string): string {
  return field.replace(/\\([0-7]{3})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 8)));
}
