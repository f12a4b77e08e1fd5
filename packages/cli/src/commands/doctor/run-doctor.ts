import { loadAgents, type Agent, type EgressPolicy } from "@budgie/core";
import { isKiros } from "@budgie/core/agents";
import type { LabOptions } from "@budgie/claims";
import type { SandboxFacts } from "@budgie/runner-docker";
import type { Config } from "../../config/config.ts";
import { inspectEgress } from "./inspect-egress.ts";
import { inspectMachine } from "./inspect-machine.ts";
import { findUpstreamProxy, type Host } from "@budgie/mcp-server";
import { withKagentAgents } from "@budgie/mcp-server/commands";
import { interruptible } from "../../process/interruptible.ts";
import { askKiros, judgeKiros } from "./judge-kiros.ts";
import { inspectImage, inspectPrograms } from "./inspect-programs.ts";
import { printFindings } from "./print-findings.ts";
import { proveClaims } from "./prove-claims.ts";
import { listSandboxFindings } from "./list-sandbox-findings.ts";
import type { Finding } from "../findings/finding.ts";
import { inspectSettings } from "../findings/inspect-settings.ts";

export type DoctorOptions = {
  readonly json: boolean;
  /** An image of a project to look into too; default none */
  readonly image?: string | undefined;
  /** Run the claims' probes too */
  readonly prove: boolean;
  /** The egress policy of a sandbox, even without `--sandbox` */
  readonly egress: EgressPolicy;
};

/** Runs `budgie doctor`: checks what sandboxed turns need, and removes what it created. Resolves to 1 if something is
 * missing, and to 3 if it is the engine or the image. */
export async function runDoctor(config: Config, options: DoctorOptions, host: Host): Promise<number> {
  return interruptible(host, (signal) => examine(config, { ...options, signal }, host));
}

type Examination = DoctorOptions & { readonly signal: AbortSignal };

async function examine(
  given: Config,
  { egress, image, json, prove, signal }: Examination,
  host: Host,
): Promise<number> {
  const { config, problems } = await findElsewhere(given, host);
  const facts = await inspectMachine(config, host);
  const { agents } = loadAgents(config);
  const lab = await loadLabOptions(config, signal, host);
  const found: readonly Finding[] = [
    ...withoutKiros(listSandboxFindings(facts, config, host), agents),
    ...(await inspectKiros(facts, agents, { config, host })),
    ...(await inspectEgress(facts, egress, {
      caFile: config.caFile,
      callsKiro: callsKiro(facts, agents),
      lab,
      host,
    })),
    ...(await inspectImage(image, { agents, config, host })),
    ...(await inspectPrograms(agents, { config, host, signal })),
    ...(await inspectSettings(config, { problems, signal, host })),
  ];
  const isReady = facts.engine.ok && facts.image.ok;
  return printFindings(found, { json, isReady, prove: prove ? () => proveClaims(facts, lab, host) : undefined }, host);
}

/** Adds the agents of a backend. Resolves to its problems too. */
export async function findElsewhere(
  given: Config,
  host: Host,
): Promise<{ readonly config: Config; readonly problems: readonly string[] }> {
  const problems: string[] = [];
  const config = await withKagentAgents(given, { ...host, report: (line) => void problems.push(line) });
  return { config, problems };
}

/** Removes the findings about kiro-cli and its login if only agents with programs of their own are on offer. */
function withoutKiros(findings: readonly Finding[], agents: readonly Agent[]): readonly Finding[] {
  return needsKiro(agents) ? findings : findings.filter(({ what }) => what !== "program" && what !== "login");
}

type Context = { readonly config: Config; readonly host: Host };

async function inspectKiros(
  facts: SandboxFacts,
  agents: readonly Agent[],
  { config, host }: Context,
): Promise<readonly Finding[]> {
  return needsKiro(agents) ? judgeKiros(await askKiros(facts, config, host), config) : [];
}

/** Returns true if turns can call Kiro. */
function callsKiro({ login }: SandboxFacts, agents: readonly Agent[]): boolean {
  return needsKiro(agents) && login?.ok === true;
}

function needsKiro(agents: readonly Agent[]): boolean {
  return agents.length === 0 || agents.some(isKiros);
}

/** Returns the options of a lab whose target has the profile of a turn. */
async function loadLabOptions(config: Config, signal: AbortSignal, { env: hostEnv, home }: Host): Promise<LabOptions> {
  const { createDockerTarget } = await import("@budgie/claims/docker");
  const { caFile, credentials, runtime, sandboxImage: image } = config;
  const upstreamProxy = findUpstreamProxy(hostEnv);
  return { target: createDockerTarget({ image, home, hostEnv, runtime, caFile, upstreamProxy }), credentials, signal };
}
