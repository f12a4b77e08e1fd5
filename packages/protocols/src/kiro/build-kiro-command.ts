import { basename, dirname, extname, join } from "node:path";
import type { Agent, Command, Projection } from "@budgie/core";
import { KIRO_HIDDEN_PATHS } from "@budgie/core/policy";
import type { KiroFlags } from "./help/kiro-flags.ts";
import type { HarnessFlags } from "./help/parse-kiro-help.ts";
import type { KiroRequest } from "./v3/custom-agent.ts";

/** The options of one run of `kiro-cli chat`. */
export type KiroRun = {
  /** A program's name, looked up on the PATH, or its path */
  readonly binary: string;
  /** The flags that name the harness; empty if the program has none */
  readonly harness: readonly string[];
  readonly agent: string;
  /** `undefined` leaves the choice to Kiro */
  readonly model: string | undefined;
  readonly resume: boolean;
  readonly trustAllTools: boolean;
  readonly env: Readonly<Record<string, string>>;
  readonly projections: readonly Projection[];
};

/** Kiro's program as one that speaks ACP. */
export type KiroAcpProgram = {
  readonly command: Command;
  readonly permission: "allow" | "deny";
  /** The agent's name, or on V3 its id, which Kiro calls a mode */
  readonly mode: string;
  /** The model to ask for in the protocol; `undefined` if the command names one, or leaves the choice to Kiro */
  readonly model?: string | undefined;
  readonly kiro: KiroRequest;
};

/** Builds the command of one headless run. The prompt is not part of it: Kiro reads it from stdin, whole and unparsed. */
export function buildKiroCommand(run: KiroRun): Command {
  const argv: [string, ...string[]] = [run.binary, "chat", ...run.harness, "--agent", run.agent, "--no-interactive"];
  if (run.model !== undefined) argv.push("--model", run.model);
  if (run.resume) argv.push("--resume");
  if (run.trustAllTools) argv.push("--trust-all-tools");
  return buildCommand(argv, run);
}

/** Builds the command of Kiro over ACP. Its conversation is chosen in the protocol. */
export function buildKiroAcpCommand(run: Omit<KiroRun, "resume">): Command {
  const argv: [string, ...string[]] = [run.binary, "acp", ...run.harness, "--agent", run.agent];
  if (run.model !== undefined) argv.push("--model", run.model);
  if (run.trustAllTools) argv.push("--trust-all-tools");
  return buildCommand(argv, run);
}

/** Builds the command of Kiro's V3 harness over ACP, which refuses all other flags. Its agent and model travel in the protocol. */
export function buildKiroV3Command(run: Pick<KiroRun, "binary" | "env" | "projections">): Command {
  return buildCommand([run.binary, "acp", "--agent-engine", "v3", "--auth-method", "cli"], run);
}

/** Builds a command with Kiro's login, which no repository may redefine. */
export function buildCommand(
  argv: Command["argv"],
  { env, projections }: Pick<KiroRun, "env" | "projections">,
): Command {
  return { argv, env, projections, login: "kiro", hidden: KIRO_HIDDEN_PATHS };
}

/** Returns the flags that name the V2 harness to `chat`; none for a program that has no other, or whose help is unknown. */
export function chooseV2ChatFlags(flags: KiroFlags | undefined): readonly string[] {
  return flags?.chat.hasV2 === true ? ["--v2"] : chooseEngineFlags(flags?.chat);
}

/** Returns the flags that name the V2 harness to `acp`, of which nobody has seen `--v2`. */
export function chooseV2AcpFlags(flags: KiroFlags | undefined): readonly string[] {
  const named = chooseEngineFlags(flags?.acp);
  return named.length === 0 && flags?.acp.hasV2 === true ? ["--v2"] : named;
}

function chooseEngineFlags({ engines }: Partial<HarnessFlags> = {}): readonly string[] {
  // A flag whose values help does not name has this one.
  const isValue = engines !== undefined && (engines.length === 0 || engines.includes("v2"));
  return isValue ? ["--agent-engine", "v2"] : [];
}

/**
 * Returns the variables of a run. In a sandbox Kiro runs the image's program and no copy of it, and looks for agents only in the home
 * at this path. Without one, it looks for an agent with a copy only there. Older versions ignore all, and do not find such an agent.
 */
export function buildKiroEnv(
  { env, sandboxHome }: KiroPlace,
  home: string,
  shown?: Agent["shown"],
): Readonly<Record<string, string>> {
  if (sandboxHome === undefined) return shown === undefined ? env : { ...env, KIRO_AGENT_CONFIG_DIR: dirname(shown) };
  return { ...env, KIRO_SKIP_BINARY_PINNING: "1", KIRO_AGENT_CONFIG_DIR: `${home}/.kiro/agents` };
}

type KiroPlace = Pick<KiroRun, "env"> & { readonly sandboxHome?: string | undefined };

export type KiroModels = {
  /** The model for agents whose prompt file names none */
  readonly model: string | undefined;
  /** The model for agents whose own file names none either */
  readonly defaultModel: string | undefined;
};

/** Chooses the model to ask for; `undefined` leaves the choice to Kiro, which uses the model of the agent's own file. */
export function chooseModel(
  agent: Pick<Agent, "hasModel" | "model">,
  { defaultModel, model }: KiroModels,
): string | undefined {
  return agent.model ?? model ?? (agent.hasModel ? undefined : defaultModel);
}

/** Lists the parts of the user's `~/.kiro` that every agent may read. */
export function listSharedProjections(home: string, promptsDir: string): readonly Projection[] {
  const toProjection = (source: string, child: string): Projection => ({ source, home: `.kiro/${child}` });
  return [
    ...["prompts", "steering", "skills"].map((child) => toProjection(join(home, ".kiro", child), child)),
    toProjection(promptsDir, "sub-agents/prompts"),
  ];
}

/** Lists this agent's own files: its JSON, in one folder for all of Kiro's versions, and its prompt. The files of other agents may hold secrets. */
export function listAgentProjections({
  file,
  promptFile,
  shown = file,
}: Pick<Agent, "file" | "promptFile" | "shown">): readonly Projection[] {
  const own: Projection = { source: shown, home: `.kiro/agents/${basename(file, extname(file))}.json` };
  if (promptFile === undefined) return [own];
  const folder = `${dirname(file)}/`;
  const beside = promptFile.startsWith(folder) ? `.kiro/agents/${promptFile.slice(folder.length)}` : undefined;
  return [own, { source: promptFile, home: beside }];
}
