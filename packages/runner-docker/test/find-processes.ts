import { readdirSync, readFileSync } from "node:fs";

/** The pids of the processes of which a file of `/proc` says all of these: a minimal machine has no `ps`, nor its engine then. */
export function findProcesses(file: "cgroup" | "cmdline", ...words: readonly string[]): readonly string[] {
  const isMeant = (pid: string): boolean => {
    const said = read(`/proc/${pid}/${file}`);
    return words.every((word) => said.includes(word));
  };
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name) && isMeant(name));
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8").replaceAll("\0", " ");
  } catch {
    // It has ended meanwhile.
    return "";
  }
}
