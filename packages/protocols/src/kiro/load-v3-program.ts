import { join } from "node:path";
import { BudgieError, formatOption, type Agent } from "@budgie/core";
import { readAgentDefinition } from "@budgie/core/agents";
import type { ProtocolTurn } from "@budgie/core/protocol";
import { readUnchecked } from "@budgie/core/text";
import { findTurnFiles } from "./agent-files.ts";
import { buildKiroEnv, buildKiroV3Command, chooseModel, type KiroAcpProgram } from "./build-kiro-command.ts";
import { findFlagsFor, type KiroFlags } from "./help/kiro-flags.ts";
import type { KiroOptions } from "./kiro-protocol.ts";
import { toCustomAgent } from "./v3/custom-agent.ts";
import { readPromptText } from "./v3/read-prompt-text.ts";
import { findV3Obstacle } from "./v3/find-v3-obstacle.ts";

/**
 * Returns the program of a turn on Kiro's V3 harness, with the agent as it is now. Throws if the program has no such harness, or if V3
 * must not run the agent.
 */
export async function loadV3Program(options: KiroOptions, turn: ProtocolTurn): Promise<KiroAcpProgram> {
  const { agent, directory, session } = turn;
  const { binary, trustAllTools } = options;
  requireV3(await findFlagsFor(options.findFlags, turn), options);
  refuseOwnServers(options, directory);
  const definition = readAgentDefinition(agent);
  const obstacle = findV3Obstacle(definition);
  if (obstacle !== undefined) {
    throw invalid(`The agent "${agent.name}" cannot run on Kiro's V3 harness: ${obstacle}. ${USE_V2}`);
  }
  const files = findTurnFiles(options, agent).projections;
  const custom = toCustomAgent(definition, buildPrompt(agent, definition.prompt ?? "", files));
  // Its files would make another agent of the same text, or change the prompt that was sent.
  const own = new Set([agent.file, agent.shown, agent.promptFile]);
  const command = buildKiroV3Command({
    binary,
    env: buildKiroEnv(options, session.paths(directory).home),
    projections: [...options.projections, ...files.filter(({ source }) => !own.has(source))],
  });
  const model = chooseModel(agent, options) ?? custom.model;
  return {
    command,
    permission: trustAllTools ? "allow" : "deny",
    mode: custom.id,
    model,
    kiro: { harness: "v3", agent: custom },
  };
}

const USE_V2 = `Use the V2 harness for it, which is the default of ${formatOption("kiroHarness")}.`;

function requireV3(flags: KiroFlags | undefined, { binary, sandboxHome }: KiroOptions): void {
  if (flags === undefined) {
    throw new BudgieError(
      "COMMAND_NOT_FOUND",
      `The help of "${binary}" could not be read, so it is unknown whether it has Kiro's V3 harness. ` +
        `Check that the agent's user can run it; "budgie doctor" looks into a sandbox's image.`,
    );
  }
  const { engines } = flags.acp;
  if (engines === undefined || (engines.length > 0 && !engines.includes("v3"))) {
    throw invalid(`The help of "${binary} acp" does not list Kiro's V3 harness. Install a later version. ${USE_V2}`);
  }
  if (flags.hasRuntime || sandboxHome === undefined) return;
  throw invalid(
    `The sandbox image has not unpacked Kiro's V3 harness where no agent can write: "budgie doctor" says what is missing. ` +
      `Build it anew with "budgie build-image", which prints the reason if it cannot be unpacked. ${USE_V2}`,
  );
}

/** Throws if V3 would start budgie again: without a sandbox it starts every MCP server of the settings, whatever its agent includes. */
function refuseOwnServers({ kiroFolder }: KiroOptions, directory: string): void {
  if (kiroFolder === undefined) return;
  const files = [kiroFolder, join(directory, ".kiro")].map((folder) => join(folder, "settings", "mcp.json"));
  const naming = files.find(namesBudgie);
  if (naming === undefined) return;
  throw invalid(
    `Without a sandbox, Kiro's V3 harness starts every server of "${naming}", budgie again among them. ` +
      `Run agents in a sandbox, or take budgie out of that file. ${USE_V2}`,
  );
}

function namesBudgie(file: string): boolean {
  try {
    return /budgie/i.test(readUnchecked(file).bytes.toString("utf8"));
  } catch (error) {
    // A file that only Kiro can read may name it.
    return (error as NodeJS.ErrnoException).code !== "ENOENT";
  }
}

/** Returns the prompt as text. Throws for a file that a sandbox does not show. */
function buildPrompt(agent: Agent, prompt: string, files: readonly { readonly source: string }[]): string {
  const { name, promptFile } = agent;
  if (!prompt.startsWith("file://")) return prompt;
  if (promptFile !== undefined && files.some(({ source }) => source === promptFile)) {
    return readPromptText(name, promptFile);
  }
  throw new BudgieError(
    "AGENT_NOT_FOUND",
    `The prompt of the agent "${name}" is a file that a sandbox does not show, ${JSON.stringify(prompt)}. ` +
      `Keep it beside the agent's file, or in a folder of its own below ~/.kiro.`,
  );
}

function invalid(message: string): BudgieError {
  return new BudgieError("CONFIG_INVALID", message);
}
