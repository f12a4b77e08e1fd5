import { createOwner, type AheadCount, type Owner, type ResourceUse } from "@budgie/core";
import type { OwnerRecord } from "@budgie/core/owners";
import { formatDuration, escapeForTerminal } from "@budgie/core/text";
import { formatLeft } from "@budgie/core/turn";
import type { Cluster } from "@budgie/runner-kubernetes/api";
import { askCluster } from "../../cluster/ask-cluster.ts";
import type { Config } from "../../config/config.ts";
import { formatMemory, formatServices } from "./format-services.ts";
import { findLiveRuns, type FoundRun } from "./find-live-runs.ts";
import type { Host } from "@budgie/mcp-server";
import { shortId } from "../../terminal/expand-id.ts";
import { stringifySafely } from "../../terminal/stringify-safely.ts";
import { formatTable } from "../../terminal/format-table.ts";

/** Runs `budgie ps`: prints the turns that wait or run now in all budgies of this user, the oldest first. */
export async function listLiveRuns(config: Config, { json }: { readonly json: boolean }, host: Host): Promise<number> {
  const owner = createOwner(config);
  const { ahead, left, runs, silent } = await findLiveRuns(owner);
  for (const record of silent) host.report(formatSilent(record));
  const uses = await measure(runs, { config, host, owner });
  const shown = runs.map((run) => ({ ...toFacts(run), ...uses.get(run.sessionId ?? "") }));
  for (const changes of left) host.report(escapeForTerminal(`${changes.directory}: ${formatLeft(changes)}`));
  host.stdout.write(json ? stringifySafely(shown) : formatRuns(shown, host) + formatAhead(ahead));
  return 0;
}

/** Returns the line about a budgie that does not answer, and whose turns are not listed. */
function formatSilent({ instance, process }: OwnerRecord): string {
  const name = process === undefined ? `The budgie ${instance}` : `The budgie with process ${process.pid}`;
  return `${name} does not answer, so its turns are unknown.`;
}

type Context = { readonly config: Config; readonly host: Host; readonly owner: Owner };

/** Measures turns that have a session. Loads only the runners that these turns need. */
async function measure(
  runs: readonly FoundRun[],
  { config, host, owner }: Context,
): Promise<ReadonlyMap<string, ResourceUse>> {
  const idsOf = (isolation: FoundRun["isolation"]): readonly string[] =>
    runs.flatMap((run) => (run.isolation === isolation && run.sessionId !== undefined ? [run.sessionId] : []));
  const { stateDir } = config;
  const [sandboxed, local] = [idsOf("container"), idsOf("none")];
  const pods = sandboxed.length === 0 ? NO_PODS : await findPods(sandboxed, { config, host, owner });
  const inContainers = sandboxed.filter((id) => !pods.has(id));
  const measured = await Promise.all([
    inContainers.length === 0 ? [] : measureSandboxes(inContainers, { host, owner, stateDir }),
    local.length === 0 ? [] : measureLocal(local, { owner, stateDir }),
  ]);
  return new Map([...pods, ...measured.flatMap((uses) => [...uses])]);
}

const NO_PODS: ReadonlyMap<string, ResourceUse> = new Map();

/** Finds the Pods of sessions, if the options ask for a cluster. Other budgies of this user may have containers. */
async function findPods(
  ids: readonly string[],
  { config, host, owner }: Context,
): Promise<ReadonlyMap<string, ResourceUse>> {
  if (config.cluster === undefined) return NO_PODS;
  const { openKubernetesHomes } = await import("@budgie/runner-kubernetes/maintenance");
  const { stateDir } = config;
  const measure = (cluster: Cluster) => openKubernetesHomes({ cluster, owner, stateDir }).measure(ids);
  return (await askCluster(config, measure, host)) ?? NO_PODS;
}

type Homes = { readonly owner: Owner; readonly stateDir: string };

async function measureSandboxes(
  ids: readonly string[],
  { host, owner, stateDir }: Homes & { readonly host: Host },
): Promise<Iterable<[string, ResourceUse]>> {
  const { openDockerHomes } = await import("@budgie/runner-docker");
  const { env: hostEnv, home } = host;
  return openDockerHomes({ owner, stateDir, home, hostEnv })
    .then((homes) => homes.measure(ids))
    .catch((error: unknown) => {
      host.report(`Containers are not measured: ${error instanceof Error ? error.message : String(error)}`);
      return [];
    });
}

async function measureLocal(
  ids: readonly string[],
  { owner, stateDir }: Homes,
): Promise<Iterable<[string, ResourceUse]>> {
  const { createLocalHomes } = await import("@budgie/runner-local");
  return createLocalHomes({ stateDir, owner }).measure(ids);
}

type ListedRun = ReturnType<typeof toFacts>;

function toFacts({ owner, startedMs, ...run }: FoundRun) {
  const ageMs = Math.max(Date.now() - startedMs, 0);
  return { ...run, started: new Date(startedMs).toISOString(), ageMs, budgiePid: owner.process?.pid };
}

function formatRuns(runs: readonly (ListedRun & Partial<ResourceUse>)[], host: Host): string {
  if (runs.length === 0) return "Nothing runs.\n";
  const head = ["RUN", "AGENT", "STATE", "AGE", "CLIENT", "SESSION", "CPU TIME", "MEMORY", "RUNS IN"];
  return `${formatTable([head, ...runs.map(toRow)], host).join("\n")}\n${formatServices(runs)}`;
}

/** Returns a line with the number of sessions and turns kept ready, whose containers `docker ps` shows too. */
function formatAhead({ sessions, turns }: AheadCount): string {
  const counts = [
    ...(sessions === 0 ? [] : [`${sessions} ${sessions === 1 ? "session" : "sessions"}`]),
    ...(turns === 0 ? [] : [`${turns} ${turns === 1 ? "turn" : "turns"}`]),
  ];
  return counts.length === 0 ? "" : `Kept ready: ${counts.join(" and ")}.\n`;
}

const LONGEST_CELL = 24;

function toRow(run: ListedRun & Partial<ResourceUse>): readonly string[] {
  return [
    shortId(run.runId),
    formatCell(run.agent),
    formatState(run),
    formatDuration(1000 * Math.floor(run.ageMs / 1000)),
    formatCell(run.client),
    run.sessionId === undefined ? "-" : shortId(run.sessionId),
    run.cpuMs === undefined ? "-" : formatDuration(run.cpuMs),
    formatMemory(run.memoryBytes),
    formatPlace(run),
  ];
}

function formatCell(name: string | undefined): string {
  const shown = escapeForTerminal(name ?? "-");
  return shown.length > LONGEST_CELL ? `${shown.slice(0, LONGEST_CELL - 1)}…` : shown;
}

function formatState({ attempt = 1, phase, position }: ListedRun): string {
  if (phase === "waiting") return position === undefined ? phase : `waiting (${position})`;
  return attempt > 1 ? `${phase} (try ${attempt})` : phase;
}

/** Returns the Pod, or the container's short id, as the engine's own command shows it, or the process, if the agent runs on this machine. */
function formatPlace({ container, isolation, pid, pod }: ListedRun & Partial<ResourceUse>): string {
  if (isolation === "remote") return "elsewhere";
  if (pod !== undefined) return `pod ${escapeForTerminal(pod)}`;
  if (container !== undefined) return `container ${container.slice(0, 12)}`;
  return pid === undefined ? "-" : `process ${pid}`;
}
