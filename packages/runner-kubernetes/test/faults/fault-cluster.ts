import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect } from "vitest";
import { createSessionId, type AgentProcess, type Owner, type Runner, type RunnerSession } from "@budgie/core";
import { DEFAULT_ACCESS } from "@budgie/core/policy";
import type { KubernetesRunnerOptions } from "../../src/index.ts";
import { listProcessesIn } from "../list-processes-in.ts";
import { startRunnerCluster, type RunnerCluster } from "../runner-cluster.ts";

/** A cluster that tests break, and the sessions on it. */
export type FaultCluster = Pick<RunnerCluster, "server"> &
  AsyncDisposable & {
    readonly kubectl: (...argv: readonly string[]) => Promise<string>;
    /** Creates a runner of small Pods */
    readonly createRunner: (options?: Partial<KubernetesRunnerOptions>) => Promise<FaultRunner>;
    /** Starts a shell in a session's copy, which is filled with nothing unless it has been */
    readonly start: (session: RunnerSession, script: string, input?: string) => Promise<AgentProcess>;
    /** Returns the names of a session's Pods */
    readonly findPods: (session: RunnerSession) => Promise<readonly string[]>;
    /** Lists the processes in Pods, as this machine sees them */
    readonly listProcesses: () => readonly { readonly pid: number; readonly argv: string }[];
    /** Expects that neither a Pod nor a Lease nor a process is there, or soon is not */
    readonly expectNothingLeft: () => Promise<void>;
  };

/** A runner, and how it is closed. */
export type FaultRunner = AsyncDisposable & {
  readonly runner: Runner;
  readonly owner: Owner;
  readonly openSession: () => Promise<RunnerSession>;
};

const LIMITS = { memoryBytes: 256 * 1024 ** 2, diskBytes: 64 * 1024 ** 2 };
const PATIENT = { timeout: 100_000, interval: 500 };

/** Starts the cluster. */
export async function startFaultCluster(name: string): Promise<FaultCluster> {
  const cluster = await startRunnerCluster(name);
  const directory = join(cluster.place, "work");
  mkdirSync(directory);
  const kubectl = async (...argv: readonly string[]) =>
    (await cluster.server.kubectl(["-n", cluster.namespace, ...argv])).stdout;
  const listProcesses = () => listProcessesIn(`/budgie-cluster-${name}/`, "kubepods");
  return {
    server: cluster.server,
    kubectl,
    listProcesses,
    async createRunner(options = {}) {
      const { owner, runner } = await cluster.createRunner({ limits: LIMITS, ...options });
      return {
        owner,
        runner,
        openSession: () => runner.openSession(createSessionId()),
        async [Symbol.asyncDispose]() {
          await runner.close();
          await owner.release();
        },
      };
    },
    async start(session, script, input = "") {
      const copy = session.copy?.();
      if ((await copy?.fillId()) === undefined) await copy?.fill((async function* () {})());
      const access = { ...DEFAULT_ACCESS, workspace: "copy" as const };
      const command = { argv: ["sh", "-c", script] as const, env: {}, projections: [] };
      const child = await session.start(command, { directory, access, input });
      child.stderr.resume();
      return child;
    },
    async findPods(session) {
      const label = `dev.budgie.session=${session.id}`;
      const names = await kubectl("get", "pods", "-l", label, "-o", "jsonpath={.items[*].metadata.name}");
      return names.split(" ").filter(Boolean);
    },
    async expectNothingLeft() {
      await expect.poll(() => kubectl("get", "pods,leases", "-o", "name"), PATIENT).toBe("");
      await expect.poll(listProcesses, PATIENT).toEqual([]);
    },
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  };
}

/** Reads a session's copy, as a text with each path and its content. */
export async function readCopy(session: RunnerSession): Promise<string> {
  const files: string[] = [];
  for await (const { content, entry } of session.copy?.().read() ?? []) {
    files.push(`${entry.path}: ${content === undefined ? "" : await text(content)}`);
  }
  return files.toSorted().join("");
}
