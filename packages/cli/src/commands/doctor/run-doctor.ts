import { accessSync, constants, existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { BudgieError, loadAgents, type Agent, type EgressPolicy } from "@budgie/core";
import { isKiros, listHideableHooks } from "@budgie/core/agents";
import { judgeBell } from "@budgie/core/bell";
import type { LabOptions } from "@budgie/claims";
import type { SandboxFacts } from "@budgie/runner-docker";
import { findSqliteProblem } from "@budgie/store";
import type { Config } from "../../config/config.ts";
import { inspectEgress } from "./inspect-egress.ts";
import { inspectMachine } from "./inspect-machine.ts";
import { failureText, findingLines, isFailure, listSqliteFindings, withoutRepeats, type Finding } from "./finding.ts";
import {
  EXIT,
  findAwaitedAgents,
  refuseUnknownAgents,
  withFlags,
  findRefusedRemotes,
  openUserFileTrust,
  findUpstreamProxy,
  type Host,
} from "@budgie/mcp-server";
import { acceptAgents, findHiddenFiles, withKagentAgents } from "@budgie/mcp-server/commands";
import { createStyle } from "../../terminal/style.ts";
import { listUnknownVariables } from "../../config/list-unknown-variables.ts";
import { interruptible } from "../../process/interruptible.ts";
import { inspectHarnesses } from "./inspect-harnesses.ts";
import { askKiros, judgeKiros } from "./judge-kiros.ts";
import { inspectServers } from "./inspect-servers.ts";
import { inspectImage, inspectPrograms } from "./inspect-programs.ts";
import { isProven, proofText } from "./proof.ts";
import { proveClaims } from "./prove-claims.ts";
import { listSandboxFindings } from "./list-sandbox-findings.ts";

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
  const problemsElsewhere: string[] = [];
  const config = await withKagentAgents(given, { ...host, report: (line) => void problemsElsewhere.push(line) });
  const facts = await inspectMachine(config, host);
  const loaded = loadAgents(config);
  const { agents } = loaded;
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
    ...inspectAgents(config, host),
    ...inspectHarnesses(loaded, config),
    ...(await inspectServers(config, signal, host)),
    ...[...problemsElsewhere, ...findRefusedRemotes(config)].map(makeFailure),
    ...inspectDirectories(config),
    ...listSqliteFindings(findSqliteProblem()),
    ...inspectBell(config, host),
    ...listUnknownVariables(host.env).map((text): Finding => ({ state: "note", what: "variable", text })),
  ];
  const findings = withoutRepeats(found).map((finding) => ({ ...finding, text: withFlags(finding.text) }));
  const style = createStyle(host);
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

function inspectAgents(config: Config, host: Host): readonly Finding[] {
  const { agents, files, problems } = loadAgents(config);
  const [problem] = problems;
  // The problem of the directory itself
  if (files.size === 0 && problem !== undefined) {
    return [{ state: "failed", what: "agents", text: problem, todo: formatFirstAgent(config, host) }];
  }
  const { agents: offered, refusals } = acceptAgents(agents, config);
  return [
    ...judgeAgents(offered, refusals, { config, host }),
    ...[...problems, ...findHiddenFiles(agents, config, host)].map(makeNote),
    ...agents.flatMap(inspectHooks),
    ...refusals.map(makeFailure),
    ...findAwaitedAgents(config, agents).map(makeNote),
    ...inspectNames(() => refuseUnknownAgents(config, agents)),
  ];
}

function makeNote(text: string): Finding {
  return { state: "note", what: "agents", text };
}

function makeFailure(text: string): Finding {
  return { state: "failed", what: "agents", text };
}

function judgeAgents(
  offered: readonly Agent[],
  refusals: readonly string[],
  { config, host }: Context,
): readonly Finding[] {
  const listFound = (agents: readonly Agent[], place: string): readonly Finding[] =>
    agents.length === 0
      ? []
      : [{ state: "ok", what: "agents", text: `${agents.map(({ name }) => name).join(", ")}, in "${place}"` }];
  const found = [
    ...listFound(offered.filter(isKiros), config.agentsDir),
    ...listFound(
      offered.filter((agent) => !isKiros(agent)),
      config.config ?? "",
    ),
  ];
  if (found.length > 0) return found;
  if (refusals.length > 0) return [];
  const text = `none, in "${config.agentsDir}": the description of one must begin with "sub-agent:"`;
  return [{ ...makeFailure(text), todo: formatFirstAgent(config, host) }];
}

/** Returns the command that writes a first agent. */
function formatFirstAgent({ agentsDir }: Config, { home }: Host): string {
  return agentsDir === join(home, ".kiro/agents") ? "budgie init" : `budgie init --agents-dir "${agentsDir}"`;
}

function inspectHooks({ hooks = [], name }: Agent): readonly Finding[] {
  const hidden = listHideableHooks(hooks).join(", ");
  if (hidden === "") return [];
  return [makeNote(`a sandbox may hide these hooks of "${name}", which then do not run: ${hidden}`)];
}

function inspectNames(check: () => unknown): readonly Finding[] {
  try {
    check();
    return [];
  } catch (error) {
    if (!(error instanceof BudgieError)) throw error;
    return [makeFailure(error.message)];
  }
}

function inspectDirectories({ sessionsDir, stateDir }: Config): readonly Finding[] {
  return [sessionsDir, stateDir].map((directory): Finding => {
    return isWritable(directory)
      ? { state: "ok", what: "directory", text: `"${directory}" can be written` }
      : { state: "failed", what: "directory", text: `"${directory}" cannot be written` };
  });
}

/** Looks for the command that is told of turns, and does not run it. */
function inspectBell(config: Config, host: Host): readonly Finding[] {
  const { notify } = config;
  if (notify === undefined) return [];
  const judged = judgeBell(notify, { host, trust: openUserFileTrust(config, host) });
  if (judged.program !== undefined) return [{ state: "ok", what: "notify", text: `"${judged.program}" can be run` }];
  const { todo, trouble } = judged;
  return [{ state: "failed", what: "notify", text: `the command of "notify" ${trouble}`, todo }];
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
