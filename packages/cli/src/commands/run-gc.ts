import { BudgieError, createOwner, type GcItem, type GcPolicy, type GcReport, type Owner } from "@budgie/core";
import { parseDuration, escapeForTerminal } from "@budgie/core/text";
import type { CollectReport } from "@budgie/runner-docker";
import { createSessionRegister } from "@budgie/store";
import type { Cluster } from "@budgie/runner-kubernetes/api";
import { askCluster } from "../cluster/ask-cluster.ts";
import type { Config } from "../config/config.ts";
import { withFlags, type Host } from "@budgie/mcp-server";
import { forgetRemoved } from "@budgie/core/garbage";
import { readImageApprovals } from "@budgie/sandbox/images";
import { stringifySafely } from "../terminal/stringify-safely.ts";

export type GcOptions = {
  readonly dryRun: boolean;
  /** Includes what is younger than 24 h and belongs to another machine or to a budgie in a container */
  readonly force: boolean;
  /** A duration */
  readonly olderThan: string;
  /** Includes the volumes that the original program, in Go, left */
  readonly legacy: boolean;
  readonly json: boolean;
};

/**
 * Runs `budgie gc`: removes what dead owners left, and old resources of unreachable owners, on the engine, in local
 * folders, and on the cluster if the options name one. Resolves to 1 if something could not be removed.
 */
export async function runGc(config: Config, options: GcOptions, host: Host): Promise<number> {
  const { dryRun, force, legacy } = options;
  const { stateDir } = config;
  const olderThanMs = parseDuration(options.olderThan, "--older-than");
  const register = createSessionRegister({ stateDir, report: host.report });
  const policy: GcPolicy = { dryRun, force, olderThanMs, sessions: (id) => register.find(id) };
  const owner = createOwner({ stateDir });
  const onEngine = await collectContainers(config, { owner, policy, legacy }, host);
  const reports = [
    onEngine,
    await collectFolders(config, { owner, policy }, host),
    await collectPods(config, { owner, policy }, host),
  ];
  const report = {
    removed: reports.flatMap(({ removed }) => removed),
    kept: reports.flatMap(({ kept }) => kept).map(withFlagsInReason),
    failed: reports.flatMap(({ failed }) => failed).map(withFlagsInReason),
    legacy: onEngine.legacy,
  };
  if (!dryRun) await forgetRemoved(report, register, owner);
  register.close();
  host.stdout.write(options.json ? stringifySafely({ dryRun, ...report }) : reportText(report, dryRun));
  return report.failed.length === 0 ? 0 : 1;
}

function withFlagsInReason<Item extends { readonly why: string }>(item: Item): Item {
  return { ...item, why: withFlags(item.why) };
}

type Collecting = { readonly owner: Owner; readonly policy: GcPolicy };

async function collectContainers(
  config: Config,
  { legacy, owner, policy }: Collecting & Pick<GcOptions, "legacy">,
  host: Host,
): Promise<CollectReport> {
  const { collectDockerGarbage } = await import("@budgie/runner-docker");
  const { env: hostEnv, home, report } = host;
  try {
    const keepImages = readImageApprovals(config).flatMap(({ imageId }) => imageId ?? []);
    return await collectDockerGarbage({ owner, stateDir: config.stateDir, home, hostEnv, policy, legacy, keepImages });
  } catch (error) {
    // Local folders can be cleaned up without an engine.
    if (!(error instanceof BudgieError) || error.code !== "RUNNER_UNAVAILABLE") throw error;
    const places = config.cluster === undefined ? "only local session folders were" : "containers were not";
    report(`No container engine is reachable, so ${places} looked at. ${error.message}`);
    return { removed: [], kept: [], failed: [], legacy: [] };
  }
}

async function collectFolders(config: Config, { owner, policy }: Collecting, host: Host): Promise<GcReport> {
  const { createLocalRunner } = await import("@budgie/runner-local");
  const { sessionsDir, stateDir } = config;
  return createLocalRunner({ sessionsDir, stateDir, owner, hostEnv: host.env }).collectGarbage(policy);
}

/** Removes Pods and leases if the options ask for a cluster, and in any case sessions that left one for the state folder. */
async function collectPods(config: Config, collecting: Collecting, host: Host): Promise<GcReport> {
  const { collectKubernetesGarbage } = await import("@budgie/runner-kubernetes/maintenance");
  const { stateDir } = config;
  const collect = (cluster: Cluster | undefined) => collectKubernetesGarbage({ ...collecting, cluster, stateDir });
  return (await askCluster(config, collect, host)) ?? collect(undefined);
}

function reportText({ failed, kept, legacy, removed }: CollectReport, dryRun: boolean): string {
  const done = dryRun ? "Would remove" : "Removed";
  const lines = [
    ...removed.map((item) => `${done.toLowerCase()} ${formatName(item)}`),
    ...kept.map((item) => `kept ${formatName(item)}: ${item.why}`),
    ...failed.map((item) => `could not remove ${formatName(item)}: ${item.why}`),
  ];
  const summary = [
    `${done} ${formatCount(removed)}`,
    ...(kept.length === 0 ? [] : [`kept ${kept.length}`]),
    ...(failed.length === 0 ? [] : [`failed to remove ${failed.length}`]),
  ];
  return `${[...lines.map(escapeForTerminal), `${summary.join("; ")}.`, ...legacyLines(legacy)].join("\n")}\n`;
}

const NAMED = 3;

function legacyLines(volumes: readonly GcItem[]): readonly string[] {
  if (volumes.length === 0) return [];
  const names = volumes.slice(0, NAMED).map(({ name }) => name);
  const more = volumes.length > NAMED ? `, and ${volumes.length - NAMED} more` : "";
  return [
    `The original budgie left ${formatCount(volumes)} that may hold a login: ${names.join(", ")}${more}.`,
    '"budgie gc --legacy" removes what no container uses. End the original before: its sessions are such volumes too.',
  ];
}

function formatName({ kind, name, session }: GcItem): string {
  return session === undefined || name.includes(session) ? `${kind} ${name}` : `${kind} ${name} (session ${session})`;
}

function formatCount(items: readonly GcItem[]): string {
  const counts = (["container", "volume", "folder", "image", "pod", "lease"] as const)
    .map((kind) => ({ kind, count: items.filter((item) => item.kind === kind).length }))
    .filter(({ count }) => count > 0)
    .map(({ count, kind }) => `${count} ${kind}${count === 1 ? "" : "s"}`);
  const last = counts.pop();
  if (last === undefined) return "nothing";
  return counts.length === 0 ? last : `${counts.join(", ")} and ${last}`;
}
