import { readFileSync } from "node:fs";
import { basename, join } from "node:path";

/**
 * Reads the environment of the MCP client that started this program, perhaps through a launcher such as npx. `undefined` if it is
 * unknown: without `/proc`, and below a shell, whose user exports variables later.
 */
export function readClientEnvironment(parentPid: number, procDir = "/proc"): NodeJS.ProcessEnv | undefined {
  try {
    return find(parentPid, (pid, name) => readFileSync(join(procDir, String(pid), name), "utf8"));
  } catch {
    // Another user's process, or one that has exited
    return undefined;
  }
}

type Read = (pid: number, name: "cmdline" | "environ" | "status") => string;

const INIT = 1;
// npx is npm, which starts a shell.
const MOST_STEPS = 8;

function find(pid: number, read: Read, stepsLeft = MOST_STEPS): NodeJS.ProcessEnv | undefined {
  if (pid <= INIT || stepsLeft === 0) return undefined;
  const words = read(pid, "cmdline").split(/[\0 ]/);
  if (isLauncher(words)) return find(Number(/^PPid:\s*(\d+)/m.exec(read(pid, "status"))?.[1]), read, stepsLeft - 1);
  return isShell(words) ? undefined : parse(read(pid, "environ"));
}

function isShell([program = ""]: readonly string[]): boolean {
  return /^-?(?:ba|da|fi|k|z)?sh$/.test(basename(program));
}

/** Tells whether a program was started only to start another, as by `sh -c`. */
function isLauncher(words: readonly string[]): boolean {
  if (isShell(words)) return words[1] === "-c";
  const [first = "", second = ""] = words.map((word) => basename(word));
  return LAUNCHER.test(first) || (first === "node" && LAUNCHER.test(second));
}

const LAUNCHER = /^(?:bun|bunx|npm|npx|pnpm|pnpx|yarn)(?:-cli)?(?:\.c?js)?$/;

function parse(environ: string): NodeJS.ProcessEnv {
  const entries = environ.split("\0").filter((entry) => entry.includes("="));
  return Object.fromEntries(entries.map((entry) => [entry.split("=", 1)[0], entry.slice(entry.indexOf("=") + 1)]));
}
