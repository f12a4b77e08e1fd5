import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { BudgieError, createOwner, createSessionId, type Runner } from "@budgie/core";
import { escapeForTerminal, truncateText } from "@budgie/core/text";
import { withFlags, type Host } from "@budgie/mcp-server";
import { createRunner } from "@budgie/mcp-server/commands";
import type { Finding } from "../findings/finding.ts";
import type { ClusterConfig } from "./list-cluster-findings.ts";

type Proving = {
  readonly config: ClusterConfig;
  readonly host: Host;
  /** Programs that the image should have */
  readonly programs: readonly string[];
  readonly signal: AbortSignal;
};

/**
 * Starts a Pod as a turn does, which attacks its own walls before anything else runs in it, and looks for the agents' programs there. Leaves
 * nothing on the cluster.
 */
export async function proveCluster({ config, host, programs, signal }: Proving): Promise<readonly Finding[]> {
  const owner = createOwner({ stateDir: config.stateDir, isolation: "container" });
  let runner: Runner | undefined;
  try {
    host.report("Starting a Pod, which tries to get out before anything else runs in it.");
    runner = await createRunner(
      { ...config, ahead: 0, keepSessions: false },
      { ...host, report: () => undefined },
      owner,
    );
    const found = await lookInside(runner, { config, programs, signal });
    return [judgeWalls(config.cluster.acceptWeaker), ...found];
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof BudgieError)) throw error;
    return [{ state: "failed", what: "walls", text: withFlags(error.message) }];
  } finally {
    await runner?.close();
    await owner.release();
  }
}

function judgeWalls(accepted: ClusterConfig["cluster"]["acceptWeaker"]): Finding {
  const what = "walls";
  if (accepted.length > 0) {
    return { state: "note", what, text: `a Pod started, and had all but what you accepted: ${accepted.join(", ")}` };
  }
  const text = "a Pod started, and its network policy and its jail each kept a process from all that was tried";
  return { state: "ok", what, text };
}

// Prints a path, or nothing, for each of its arguments.
const FIND = 'for name; do command -v -- "$name" || echo; done';
const MOST_PRINTED = 64 * 1024;

async function lookInside(
  runner: Runner,
  { config, programs, signal }: Omit<Proving, "host">,
): Promise<readonly Finding[]> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), "budgie-trial-")));
  const { limits } = config.policies.ceiling;
  const session = await runner.openSession(createSessionId(), { isKept: false });
  try {
    await session.copy?.().fill(listNothing(), { signal });
    const argv = ["/bin/sh", "-c", FIND, "sh", ...programs] as const;
    const access = { workspace: "copy", egress: { mode: "none", hosts: [] }, limits } as const;
    const child = await session.start({ argv, env: {}, projections: [] }, { directory, access, input: "", signal });
    child.stderr.resume();
    const [printed] = await Promise.all([text(child.stdout), child.exit]);
    const lines = truncateText(printed, MOST_PRINTED).split("\n");
    return programs.map((program, index) => judgeProgram(program, lines[index] ?? ""));
  } finally {
    await session.remove();
    await rm(directory, { recursive: true, force: true });
  }
}

/** Lists the entries of an empty directory. */
async function* listNothing(): AsyncGenerator<never> {}

function judgeProgram(program: string, path: string): Finding {
  return path.startsWith("/")
    ? { state: "ok", what: "program", text: `"${escapeForTerminal(path)}" in the image` }
    : { state: "failed", what: "program", text: `the image has no "${program}" on its PATH` };
}
