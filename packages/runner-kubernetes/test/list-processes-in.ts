import { readdirSync, readFileSync } from "node:fs";

/** Lists the processes of this machine in a control group with these words in its path, such as the uid of a Pod. */
export function listProcessesIn(
  ...words: readonly string[]
): readonly { readonly pid: number; readonly argv: string }[] {
  return readdirSync("/proc").flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return [];
    const group = read(`/proc/${pid}/cgroup`);
    if (!words.every((word) => group.includes(word))) return [];
    const argv = read(`/proc/${pid}/cmdline`).split("\0").join(" ");
    return argv === "" ? [] : [{ pid: Number(pid), argv }];
  });
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // A process that has ended.
    return "";
  }
}
