import { existsSync } from "node:fs";
import {
  allowsFileTools,
  listHooks,
  listServerEntries,
  type AgentHook,
  type LoadedAgent,
  type ParsedAgentFile,
} from "@budgie/core/agents";
import { findV2Obstacle, findV3Obstacle, listV2AllowedTools } from "@budgie/protocols/kiro";
import { needsCopy } from "@budgie/mcp-manager/serving";
import { toToolName } from "@budgie/mcp-server/commands";
import type { Config } from "../../config/config.ts";
import { findNotes } from "./find-notes.ts";

/** The findings about one file of the agents' folder. */
export type AgentFacts = {
  /** The path below the checked folder */
  readonly file: string;
  /** `other`: an agent that is not for budgie */
  readonly kind: "agent" | "other" | "prompt" | "unusable";
  /** The reason why it cannot be used */
  readonly problem?: string | undefined;
  readonly agent?: AgentSummary | undefined;
};

type AgentSummary = {
  readonly format: ParsedAgentFile["format"];
  readonly name: string;
  /** The name of its tool; left out if it is not for budgie */
  readonly tool?: string | undefined;
  /** Left out if the file names none */
  readonly tools?: readonly string[] | undefined;
  /** The tools that V2 uses without asking */
  readonly allowedTools: readonly string[];
  /** True if it can write its answer to a file */
  readonly writesFiles: boolean;
  readonly servers: readonly string[];
  /** True if it also names the servers of the user's settings */
  readonly includesMcpJson: boolean;
  /** Left out if the file and its prompt file name none */
  readonly model?: string | undefined;
  readonly hooks: readonly AgentHook[];
  readonly harnesses: Harnesses;
  readonly notes: readonly string[];
};

/** The forms in which Kiro's harnesses get the agent, or the reasons why they cannot run it. */
export type Harnesses = {
  readonly v2: "file" | "copy" | { readonly obstacle: string };
  readonly v3: "wire" | { readonly obstacle: string };
};

export type CheckedFile = {
  readonly loaded: LoadedAgent;
  readonly place: { readonly file: string; readonly path: string };
  /** The path below the checked folder */
  readonly shown: string;
  /** The reason why its agent is left out for another's */
  readonly refusal?: string | undefined;
};

/** Returns what budgie understood of one file. */
export function collectFacts({ loaded, place, refusal, shown: file }: CheckedFile, config: Config): AgentFacts {
  const { problem = existsSync(place.file) ? undefined : "there is no such file", value } = loaded.content;
  if (problem !== undefined) return { file, kind: "unusable", problem };
  if (value === undefined) return { file, kind: "prompt" };
  const agent = summarize(value, { config, loaded, place });
  if (agent.tool === undefined) return { file, kind: "other", agent };
  const obstacle = refusal ?? findObstacle(agent.harnesses, config);
  return obstacle === undefined ? { file, kind: "agent", agent } : { file, kind: "unusable", problem: obstacle, agent };
}

function findObstacle({ v2, v3 }: Harnesses, { kiroHarness }: Pick<Config, "kiroHarness">): string | undefined {
  const form = kiroHarness === "v3" ? v3 : v2;
  return typeof form === "string" ? undefined : `${kiroHarness === "v3" ? "V3" : "V2"} cannot run it: ${form.obstacle}`;
}

type Subject = Pick<CheckedFile, "loaded" | "place"> & { readonly config: Config };

function summarize(parsed: ParsedAgentFile, { config, loaded, place }: Subject): AgentSummary {
  const { definition, format } = parsed;
  const { hooks, includeMcpJson, model, name, tools, useLegacyMcpJson } = definition;
  return {
    format,
    name,
    ...(loaded.agent === undefined ? {} : { tool: toToolName(name, config).name }),
    ...(tools === undefined ? {} : { tools }),
    allowedTools: listV2AllowedTools(definition) ?? [],
    writesFiles: allowsFileTools(definition),
    servers: Object.keys(listServerEntries(definition)),
    includesMcpJson: includeMcpJson === true || useLegacyMcpJson === true,
    ...pickModel(loaded.agent?.model ?? model),
    hooks: listHooks(hooks),
    harnesses: findHarnesses(parsed, place.file),
    notes: [...findNotes(parsed, place, loaded.agent), ...listProfileProblem(loaded)],
  };
}

function pickModel(model: unknown): { readonly model?: string } {
  return typeof model === "string" && model !== "" ? { model } : {};
}

function findHarnesses({ definition }: ParsedAgentFile, file: string): Harnesses {
  const [v2, v3] = [findV2Obstacle(definition), findV3Obstacle(definition)];
  const form = (): Harnesses["v2"] => (needsCopy({ file, name: definition.name }) ? "copy" : "file");
  return { v2: v2 === undefined ? form() : { obstacle: v2 }, v3: v3 === undefined ? "wire" : { obstacle: v3 } };
}

function listProfileProblem({ profile }: LoadedAgent): readonly string[] {
  return profile?.problem === undefined ? [] : [profile.problem];
}
