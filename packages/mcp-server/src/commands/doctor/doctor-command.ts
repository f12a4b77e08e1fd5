import { accessSync, constants, existsSync } from "node:fs";
import { dirname } from "node:path";
import { BudgieError, loadAgents, listHideableHooks, type Agent, type EgressPolicy } from "@budgie/core";
import type { LabOptions } from "@budgie/claims";
import type { SandboxFacts } from "@budgie/runner-docker";
import { findSqliteProblem } from "@budgie/store";
import type { Config } from "../../config/config.ts";
import { inspectEgress } from "./egress-findings.ts";
import { inspectMachine } from "./inspect-machine.ts";
import { failureText, findingLines, isFailure, withoutRepeats, type Finding } from "./finding.ts";
import { EXIT } from "../../process/exit-code.ts";
import { toStyle } from "../../terminal/style.ts";
import { listUnknownVariables } from "../../config/unknown-variables.ts";
import type { Host } from "../../process/host.ts";
import { interruptible } from "../../process/interruptible.ts";
import { acceptAgents } from "../../agents/accept-agents.ts";
import { findHiddenFiles } from "../../agents/find-problems.ts";
import { withKagentAgents } from "../../agents/kagent-agents.ts";
import { findAwaitedAgents, refuseUnknownAgents } from "../../config/agent-policies.ts";
import { withFlags } from "../../terminal/with-flags.ts";
import { toHarnessFindings } from "./harness-findings.ts";
import { askKiros, toKiroFindings } from "./kiro-findings.ts";
import { inspectServers } from "./mcp-findings.ts";
import { inspectPrograms } from "./program-findings.ts";
import { isProven, proofText } from "./proof.ts";
import { proveClaims } from "./prove-claims.ts";
import { toSandboxFindings } from "./sandbox-findings.ts";
import { findRefusedRemotes, toUpstreamProxy } from "../../config/sandbox-options.ts";

export type DoctorOptions = {
  readonly json: boolean;
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

async function examine(given: Config, { egress, json, prove, signal }: Examination, host: Host): Promise<number> {
  const problemsElsewhere: string[] = [];
  const config = await withKagentAgents(given, { ...host, report: (line) => void problemsElsewhere.push(line) });
  const facts = await inspectMachine(config, host);
  const loaded = loadAgents(config);
  const { agents } = loaded;
  const lab = toLabOptions(config, signal, host);
  const found: readonly Finding[] = [
    ...withoutKiros(toSandboxFindings(facts, config, host), agents),
    ...(await inspectKiros(facts, agents, { config, host })),
    ...(await inspectEgress(facts, egress, lab)),
    ...(await inspectPrograms(agents, config, host)),
    ...inspectAgents(config, host),
    ...toHarnessFindings(loaded, config),
    ...(await inspectServers(config, signal, host)),
    ...[...problemsElsewhere, ...findRefusedRemotes(config)].map(toFailure),
    ...inspectDirectories(config),
    ...inspectSqlite(),
    ...listUnknownVariables(host.env).map((text): Finding => ({ state: "note", what: "variable", text })),
  ];
  const findings = withoutRepeats(found).map((finding) => ({ ...finding, text: withFlags(finding.text) }));
  const style = toStyle(host);
  const sound = findings.filter((finding) => !isFailure(finding));
  if (!json) host.stdout.write(findingLines(sound, style, host.columns));
  const { problems, proof } = prove ? await proveClaims(facts, lab, host) : { problems: [], proof: undefined };
  const all = [...sound, ...findings.filter(isFailure), ...problems];
  const isWell = !all.some(isFailure) && (proof === undefined || isProven(proof));
  const rest = [...(proof === undefined ? [] : ["\n", proofText(proof), "\n"]), failureText(all, style, host.columns)];
  host.stdout.write(json ? `${JSON.stringify({ ok: isWell, findings: all, proof })}\n` : rest.join(""));
  if (isWell) return EXIT.done;
  return facts.engine.ok && facts.image.ok ? EXIT.failed : EXIT.unready;
}

/** Removes the findings about kiro-cli and its login if only agents with programs of their own are on offer. */
function withoutKiros(findings: readonly Finding[], agents: readonly Agent[]): readonly Finding[] {
  return needsKiro(agents) ? findings : findings.filter(({ what }) => what !== "program" && what !== "login");
}

type Place = { readonly config: Config; readonly host: Host };

async function inspectKiros(
  facts: SandboxFacts,
  agents: readonly Agent[],
  { config, host }: Place,
): Promise<readonly Finding[]> {
  return needsKiro(agents) ? toKiroFindings(await askKiros(facts, config, host), config) : [];
}

function needsKiro(agents: readonly Agent[]): boolean {
  return agents.length === 0 || agents.some(isKiros);
}

function isKiros({ program, remote }: Agent): boolean {
  return program === undefined && remote === undefined;
}

/** Returns the options of a lab with the profile of a turn. */
function toLabOptions(config: Config, signal: AbortSignal, { env: hostEnv, home }: Host): LabOptions {
  const { caFile, credentials, runtime, sandboxImage: image } = config;
  return { image, home, hostEnv, credentials, runtime, caFile, upstreamProxy: toUpstreamProxy(hostEnv), signal };
}

function inspectAgents(config: Config, host: Host): readonly Finding[] {
  const { agents, files, problems } = loadAgents(config);
  const [problem] = problems;
  // The problem of the directory itself
  if (files.size === 0 && problem !== undefined) {
    return [{ state: "failed", what: "agents", text: problem, todo: `mkdir -p "${config.agentsDir}"` }];
  }
  const { agents: offered, refusals } = acceptAgents(agents, config);
  return [
    ...toAgentsFindings(offered, refusals, config),
    ...[...problems, ...findHiddenFiles(agents, config, host)].map(toNote),
    ...agents.flatMap(inspectHooks),
    ...refusals.map(toFailure),
    ...findAwaitedAgents(config, agents).map(toNote),
    ...inspectNames(() => refuseUnknownAgents(config, agents)),
  ];
}

function toNote(text: string): Finding {
  return { state: "note", what: "agents", text };
}

function toFailure(text: string): Finding {
  return { state: "failed", what: "agents", text };
}

function toAgentsFindings(
  offered: readonly Agent[],
  refusals: readonly string[],
  { agentsDir, config = "" }: Config,
): readonly Finding[] {
  const toFound = (agents: readonly Agent[], place: string): readonly Finding[] =>
    agents.length === 0
      ? []
      : [{ state: "ok", what: "agents", text: `${agents.map(({ name }) => name).join(", ")}, in "${place}"` }];
  const found = [
    ...toFound(offered.filter(isKiros), agentsDir),
    ...toFound(
      offered.filter((agent) => !isKiros(agent)),
      config,
    ),
  ];
  if (found.length > 0) return found;
  if (refusals.length > 0) return [];
  const text = `none, in "${agentsDir}": the description of one must begin with "sub-agent:"`;
  return [toFailure(text)];
}

function inspectHooks({ hooks = [], name }: Agent): readonly Finding[] {
  const hidden = listHideableHooks(hooks).join(", ");
  if (hidden === "") return [];
  return [toNote(`a sandbox may hide these hooks of "${name}", which then do not run: ${hidden}`)];
}

function inspectNames(check: () => unknown): readonly Finding[] {
  try {
    check();
    return [];
  } catch (error) {
    if (!(error instanceof BudgieError)) throw error;
    return [toFailure(error.message)];
  }
}

function inspectDirectories({ sessionsDir, stateDir }: Config): readonly Finding[] {
  return [sessionsDir, stateDir].map((directory): Finding => {
    return isWritable(directory)
      ? { state: "ok", what: "directory", text: `"${directory}" can be written` }
      : { state: "failed", what: "directory", text: `"${directory}" cannot be written` };
  });
}

function inspectSqlite(): readonly Finding[] {
  const problem = findSqliteProblem();
  return problem === undefined ? [] : [{ state: "failed", what: "sqlite", text: problem }];
}

/** Returns whether a directory is writable, or can be created in its nearest existing parent. */
function isWritable(directory: string): boolean {
  if (!existsSync(directory)) return dirname(directory) !== directory && isWritable(dirname(directory));
  try {
    accessSync(`${directory}/.`, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
