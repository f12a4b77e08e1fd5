import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import type { Engine } from "../../../../runner-docker/src/engine/engine.ts";
import { listTracesBelow } from "../../helpers/engine.ts";
import type { BudgieUser } from "../../helpers/start-budgie.ts";

// Files that stay on purpose: the bases of copies, which go by their age, an image's flags of Kiro, allowed MCP servers, the directories that agents could write, the log, long outputs, and files that sandboxes mount.
const KEPT =
  /^(copies\/[0-9a-f-]+\.jsonl|kiro-flags\/[0-9a-f]{32}\.json|mcp\/allowed\.json|outputs\/[0-9a-f-]+\.txt|runs\.sqlite3(-wal|-shm)?|written-directories|sandbox\/(passwd-\d+-\d+|no-servers\.json|depth-\d*-\d*|hosts|resolv\.conf|seccomp\.json))$/;

/** Lists the containers, volumes, networks, files and processes that a user's budgies left behind. */
export async function listLeftovers(
  { host, sessionsDir }: BudgieUser,
  docker?: Engine["docker"],
): Promise<readonly string[]> {
  const stateDir = join(host.home, ".local", "state", "budgie");
  const files = [
    ...listFiles(stateDir).filter((file) => !KEPT.test(file)),
    ...listFiles(sessionsDir),
    ...listFiles(join(host.home, "tmp")),
  ];
  return [
    ...(docker === undefined ? [] : await listTracesBelow(host.home, docker)),
    ...files,
    ...listProcesses(host.home),
  ];
}

function listFiles(folder: string): readonly string[] {
  try {
    const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
    return entries
      .filter((entry) => !entry.isDirectory())
      .map((entry) => relative(folder, join(entry.parentPath, entry.name)));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

/** Recognises processes by their environment or arguments. */
function listProcesses(home: string): readonly string[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.filter((pid) => hasHome(pid, home)).map((pid) => `process ${pid}`);
}

function hasHome(pid: string, home: string): boolean {
  try {
    if (readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").includes(`HOME=${home}`)) return true;
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(home);
  } catch {
    return false;
  }
}
