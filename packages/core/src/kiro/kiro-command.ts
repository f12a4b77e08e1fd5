import { basename, dirname, join } from "node:path";
import type { Agent } from "../agents/agent.ts";
import type { Command, Projection } from "../runner/runner.ts";
import { KIRO_HIDDEN_PATHS } from "./kiro-hidden-paths.ts";

/** The options of one run of `kiro-cli chat`. */
export type KiroRun = {
  /** A program's name, looked up on the PATH, or its path */
  readonly binary: string;
  readonly agent: string;
  /** `undefined` leaves the choice to Kiro */
  readonly model: string | undefined;
  readonly resume: boolean;
  readonly trustAllTools: boolean;
  readonly env: Readonly<Record<string, string>>;
  readonly projections: readonly Projection[];
};

/** Builds the command of one headless run. The prompt is not part of it: Kiro reads it from stdin, whole and unparsed. */
export function toKiroCommand(run: KiroRun): Command {
  const argv: [string, ...string[]] = [run.binary, "chat", "--agent", run.agent, "--no-interactive"];
  if (run.model !== undefined) argv.push("--model", run.model);
  if (run.resume) argv.push("--resume");
  if (run.trustAllTools) argv.push("--trust-all-tools");
  return toCommand(argv, run);
}

/** Builds the command of Kiro over ACP. Its conversation is chosen in the protocol. */
export function toKiroAcpCommand(run: Omit<KiroRun, "resume">): Command {
  const argv: [string, ...string[]] = [run.binary, "acp", "--agent", run.agent];
  if (run.model !== undefined) argv.push("--model", run.model);
  if (run.trustAllTools) argv.push("--trust-all-tools");
  return toCommand(argv, run);
}

function toCommand(argv: Command["argv"], { env, projections }: Pick<KiroRun, "env" | "projections">): Command {
  return { argv, env, projections, login: "kiro", hidden: KIRO_HIDDEN_PATHS };
}

export type KiroModels = {
  /** The model for agents whose prompt file names none */
  readonly model: string | undefined;
  /** The model for agents whose own file names none either */
  readonly defaultModel: string | undefined;
};

/** Chooses the model to ask for; `undefined` leaves the choice to Kiro, which uses the model of the agent's own file. */
export function toModel(
  agent: Pick<Agent, "hasModel" | "model">,
  { defaultModel, model }: KiroModels,
): string | undefined {
  return agent.model ?? model ?? (agent.hasModel ? undefined : defaultModel);
}

/** Lists the parts of the user's `~/.kiro` that every agent may read. */
export function toSharedProjections(home: string, promptsDir: string): readonly Projection[] {
  const toProjection = (source: string, child: string): Projection => ({ source, home: `.kiro/${child}` });
  return [
    ...["prompts", "steering", "skills"].map((child) => toProjection(join(home, ".kiro", child), child)),
    toProjection(promptsDir, "sub-agents/prompts"),
  ];
}

/** Lists this agent's own files. The files of other agents may hold secrets. */
export function toAgentProjections({
  file,
  promptFile,
  shown = file,
}: Pick<Agent, "file" | "promptFile" | "shown">): readonly Projection[] {
  const own: Projection = { source: shown, home: `.kiro/agents/${basename(file)}` };
  if (promptFile === undefined) return [own];
  const folder = `${dirname(file)}/`;
  const beside = promptFile.startsWith(folder) ? `.kiro/agents/${promptFile.slice(folder.length)}` : undefined;
  return [own, { source: promptFile, home: beside }];
}
