import { BudgieError, loadAgents, type Agent } from "@budgie/core";
import { isKiros } from "@budgie/core/agents";
import type { Host } from "@budgie/mcp-server";
import { findMissingInputs } from "../../agents/find-missing-inputs.ts";
import { interruptible } from "../../process/interruptible.ts";
import { printFindings } from "../doctor/print-findings.ts";
import { findElsewhere, type DoctorOptions } from "../doctor/run-doctor.ts";
import type { Finding } from "../findings/finding.ts";
import { inspectSettings } from "../findings/inspect-settings.ts";
import { findLogin } from "./find-login.ts";
import { isReady, listClusterFindings, type ClusterConfig } from "./list-cluster-findings.ts";
import { proveCluster } from "./prove-cluster.ts";

/**
 * Runs `budgie doctor --runner kubernetes`: checks what a cluster gives to sandboxes, wall by wall, and what turns need besides. Resolves to 1
 * if something is missing, and to 3 if no sandbox can start.
 */
export async function runClusterDoctor(
  given: ClusterConfig,
  { image, json, prove }: Omit<DoctorOptions, "egress">,
  host: Host,
): Promise<number> {
  if (image !== undefined) {
    throw new BudgieError(
      "CONFIG_INVALID",
      "--image looks into an image of this machine's engine, and --runner kubernetes has none. Leave one of them out.",
    );
  }
  return interruptible(host, async (signal) => {
    const { config: known, problems } = await findElsewhere(given, host);
    const config = { ...known, cluster: given.cluster };
    const { agents } = loadAgents(config);
    const ofCluster = await listClusterFindings(config);
    const found = [
      ...ofCluster,
      ...(needsKiro(agents) ? [await findLogin(config, host)] : []),
      ...agents.flatMap((agent) => listInputs(agent, config, host)),
      ...(await inspectSettings(config, { problems, signal, host })),
    ];
    const proof = async () => ({
      problems: await proveCluster({ config, programs: listPrograms(config, agents), host, signal }),
      proof: undefined,
    });
    const ready = isReady(ofCluster);
    return printFindings(found, { json, isReady: ready, prove: prove && ready ? proof : undefined }, host);
  });
}

function needsKiro(agents: readonly Agent[]): boolean {
  return agents.length === 0 || agents.some(isKiros);
}

/** Lists what an agent needs and this machine lacks. */
function listInputs(agent: Agent, config: ClusterConfig, host: Host): readonly Finding[] {
  const { files, variables } = findMissingInputs(agent, config, host);
  const lacks = [
    ...variables.map((name) => `${name}, which is not set here`),
    ...files.map((file) => `"${file}", which is not there`),
  ];
  return lacks.map((lack) => ({ state: "failed", what: "agent", text: `${agent.name}: it needs ${lack}` }));
}

function listPrograms({ kiroBinary }: ClusterConfig, agents: readonly Agent[]): readonly string[] {
  const own = agents.flatMap(({ program }) => program?.argv[0] ?? []);
  return [...new Set([...(needsKiro(agents) ? [kiroBinary] : []), ...own])];
}
