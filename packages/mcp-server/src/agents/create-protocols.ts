import type { Agent, Command } from "@budgie/core";
import { ALL_HIDDEN_PATHS } from "@budgie/core/policy";
import { isKiros } from "@budgie/core/agents";
import type { Protocol, ProtocolTurn } from "@budgie/core/protocol";
import type { TurnDependencies } from "@budgie/core/turn";
import {
  buildOtherCommand,
  createKiroAcpProtocol,
  createKiroProtocol,
  listSharedProjections,
  type KiroModels,
  type KiroOptions,
} from "@budgie/protocols/kiro";
import type { AcpProgram } from "@budgie/protocols/acp";
import { type ServerConfig, DEFAULT_MODEL } from "../config/server-config.ts";
import { fillHeaders } from "./fill-headers.ts";
import { findKiroFolder } from "../config/host-paths.ts";
import { pickSandboxSecrets } from "../config/check-sandbox-options.ts";
import type { Host } from "../process/host.ts";
import { listHomeFiles } from "./list-home-files.ts";

/** The ways to talk to agents. */
type Protocols = Required<Pick<TurnDependencies, "acp" | "protocol">> & {
  /** The protocol of agents that run elsewhere */
  readonly a2a: Protocol;
};

export type ProtocolParts = Pick<KiroOptions, "findFlags" | "outputFiles">;

/** Creates the protocols: Kiro's, ACP for agents with a program of their own, and A2A for those elsewhere. */
export function createProtocols(config: ServerConfig, host: Host, parts: ProtocolParts): Protocols {
  const kiro = buildKiroOptions(config, host, parts);
  return {
    protocol: config.protocol === "acp" ? whenNeeded(() => loadKiroAcp(kiro)) : createKiroProtocol(kiro),
    acp: whenNeeded(() => loadAcp(config)),
    a2a: whenNeeded(() => loadA2a(host.env)),
  };
}

/** Builds a command that runs in place of a turn's agent: with the files, variables and login of its program. */
export type BuildCommand = (turn: ProtocolTurn, argv: Command["argv"]) => Command;

/** Creates the function that builds a person's commands. */
export function createBuildCommand(config: ServerConfig, host: Host): BuildCommand {
  const kiro = buildKiroOptions(config, host, {});
  return (turn, argv) =>
    isKiros(turn.agent)
      ? buildOtherCommand(kiro, turn, argv)
      : { ...buildProgram(turn.agent, turn.directory, config).command, argv };
}

/** Returns a protocol that is loaded with its first turn. */
function whenNeeded(load: () => Promise<Protocol>): Protocol {
  let loading: Promise<Protocol> | undefined;
  return (turn) => {
    loading ??= load();
    return loading.then((protocol) => protocol(turn));
  };
}

async function loadKiroAcp(options: KiroOptions): Promise<Protocol> {
  const { createAcpProtocol } = await import("@budgie/protocols/acp");
  return createKiroAcpProtocol(options, createAcpProtocol);
}

async function loadA2a(env: Host["env"]): Promise<Protocol> {
  const { createA2aProtocol } = await import("@budgie/protocols/a2a");
  return createA2aProtocol({
    toServer({ file, name, remote }) {
      if (remote === undefined) throw new TypeError(`The agent "${name}" runs here.`);
      const { headers, namesContext, url } = remote;
      return { url, namesContext, headers: fillHeaders(headers, env, `The agent "${name}" (${file})`) };
    },
  });
}

async function loadAcp(config: Pick<ServerConfig, "sandbox">): Promise<Protocol> {
  // Imported late, since most servers have only Kiro's agents.
  const { createAcpProtocol } = await import("@budgie/protocols/acp");
  return createAcpProtocol({
    toProgram: ({ agent, directory }) => buildProgram(agent, directory, config),
  });
}

/** Returns the program of an agent's turn in a directory. */
export function buildProgram(agent: Agent, directory: string, { sandbox }: Pick<ServerConfig, "sandbox">): AcpProgram {
  const { model, name, program } = agent;
  // Without a sandbox the program has the user's own home.
  const home = sandbox ? listHomeFiles(agent, directory) : undefined;
  if (program === undefined) throw new TypeError(`The agent "${name}" has no program.`);
  const { argv: own, image, permission, sandboxArgs = [], tokenBasis } = program;
  // The paths of all programs: this one may read the settings of others, and has a preset of budgie's or not.
  const hidden = ALL_HIDDEN_PATHS;
  const argv: Command["argv"] = sandbox ? [...own, ...sandboxArgs] : own;
  return { command: { argv, env: {}, projections: [], hidden, home, image }, permission, model, tokenBasis };
}

/** Returns the models. An agent's own file takes precedence over the default model, and `--model` over the file. */
function pickModels({ model }: ServerConfig): KiroModels {
  if (model === undefined) return { model, defaultModel: DEFAULT_MODEL };
  return { model: model === "auto" ? undefined : model, defaultModel: undefined };
}

function buildKiroOptions(config: ServerConfig, host: Host, { findFlags, outputFiles }: ProtocolParts): KiroOptions {
  const { env, home } = host;
  return {
    binary: config.kiroBinary,
    harness: config.kiroHarness,
    findFlags,
    ...pickModels(config),
    trustAllTools: config.trustAllTools,
    prompts: { system: config.systemPrompt, contextSummary: config.contextSummaryPrompt },
    // Without a sandbox the agent inherits Kiro's variables.
    env: config.sandbox ? pickSandboxSecrets(config.credentials, env) : {},
    projections: listSharedProjections(home, config.promptsDir),
    ...(config.sandbox ? { sandboxHome: home } : { kiroFolder: findKiroFolder(host) }),
    outputFiles,
    verbose: config.verbose,
  };
}
