import { accessSync, constants, existsSync } from "node:fs";
import { dirname } from "node:path";
import { BudgieError, createOwner, loadAgents, toHidableHooks, type Agent, type EgressPolicy } from "@budgie/core";
import type { LabOptions } from "@budgie/claims";
import type { SandboxFacts } from "@budgie/runner-docker";
import { findSqliteProblem } from "@budgie/store";
import type { Config } from "../../config/config.ts";
import { inspectEgress } from "./egress-findings.ts";
import type { Finding } from "./finding.ts";
import type { Host } from "../../process/host.ts";
import { interruptible } from "../../process/interruptible.ts";
import { checkToolNames } from "../../mcp/names/check-tool-names.ts";
import { refuseUnknownAgents } from "../../config/agent-policies.ts";
import { isProven, proofText } from "./proof.ts";
import { proveClaims } from "./prove-claims.ts";
import { toSandboxFindings } from "./sandbox-findings.ts";
import { toUpstreamProxy } from "../../config/sandbox-options.ts";

export type DoctorOptions = {
  readonly json: boolean;
  /** Run the claims' probes too */
  readonly prove: boolean;
  /** The egress policy of a sandbox, also without `--sandbox` */
  readonly egress: EgressPolicy;
};

/** Runs `budgie doctor`: checks what sandboxed turns need, and removes what it created. Resolves to 1 if something is missing. */
export async function runDoctor(config: Config, options: DoctorOptions, host: Host): Promise<number> {
  return interruptible(host, (signal) => examine(config, { ...options, signal }, host));
}

type Examination = DoctorOptions & { readonly signal: AbortSignal };

async function examine(config: Config, { egress, json, prove, signal }: Examination, host: Host): Promise<number> {
  const facts = await inspect(config, host);
  const lab = toLabOptions(config, signal, host);
  const findings = [
    ...toSandboxFindings(facts, config, host),
    ...(await inspectEgress(facts, egress, lab)),
    ...inspectAgents(config),
    ...inspectDirectories(config),
    ...inspectSqlite(),
  ];
  if (!json) host.stdout.write(findings.map(findingLine).join(""));
  const { problems, proof } = prove ? await proveClaims(facts, lab, host) : { problems: [], proof: undefined };
  const all = [...findings, ...problems];
  const isWell = all.every(({ state }) => state !== "failed") && (proof === undefined || isProven(proof));
  const rest = [...problems.map(findingLine), ...(proof === undefined ? [] : ["\n", proofText(proof)])];
  host.stdout.write(json ? `${JSON.stringify({ ok: isWell, findings: all, proof })}\n` : rest.join(""));
  return isWell ? 0 : 1;
}

async function inspect(config: Config, { env: hostEnv, home }: Host): Promise<SandboxFacts> {
  const { inspectSandbox } = await import("@budgie/runner-docker");
  const { credentials, kiroDataDir, runtime, sandboxImage: image, stateDir } = config;
  const { record: owner } = createOwner({ stateDir });
  const program = toProgram(config);
  return inspectSandbox({ image, program, owner, kiroDataDir, home, hostEnv, credentials, runtime });
}

/** Returns the options of a lab with the profile of a turn. */
function toLabOptions(config: Config, signal: AbortSignal, { env: hostEnv, home }: Host): LabOptions {
  const { caFile, credentials, runtime, sandboxImage: image } = config;
  return { image, home, hostEnv, credentials, runtime, caFile, upstreamProxy: toUpstreamProxy(hostEnv), signal };
}

/** Returns the program to look for in the image. Without `--sandbox` a path is one of the host's. */
function toProgram({ kiroBinary, sandbox }: Config): string {
  return sandbox || !kiroBinary.includes("/") ? kiroBinary : "kiro-cli";
}

function inspectAgents(config: Config): readonly Finding[] {
  const { agents, problems } = loadAgents(config);
  const names = agents.map(({ name }) => name).join(", ") || "none";
  return [
    { state: agents.length === 0 ? "failed" : "ok", what: "agents", text: `${names}, in "${config.agentsDir}"` },
    ...problems.map((text): Finding => ({ state: "note", what: "agents", text })),
    ...agents.flatMap(inspectHooks),
    ...inspectNames(() => checkToolNames(agents, config)),
    ...inspectNames(() => refuseUnknownAgents(config.policies, agents, config.config)),
  ];
}

function inspectHooks({ hooks = [], name }: Agent): readonly Finding[] {
  const hidden = toHidableHooks(hooks).join(", ");
  if (hidden === "") return [];
  return [
    {
      state: "note",
      what: "agents",
      text: `a sandbox may hide these hooks of "${name}", which then do not run: ${hidden}`,
    },
  ];
}

function inspectNames(check: () => unknown): readonly Finding[] {
  try {
    check();
    return [];
  } catch (error) {
    if (!(error instanceof BudgieError)) throw error;
    return [{ state: "failed", what: "agents", text: error.message }];
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

function findingLine({ state, text, what }: Finding): string {
  return `${state.padEnd(7)} ${what.padEnd(10)} ${text}\n`;
}
