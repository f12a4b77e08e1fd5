import {
  ALL_HIDDEN_PATHS,
  BudgieError,
  createKiroAcpProtocol,
  createKiroProtocol,
  toSharedProjections,
  type Agent,
  type Command,
  type KiroModels,
  type KiroOptions,
  type OutputFiles,
  type Protocol,
  type TurnDependencies,
} from "@budgie/core";
import type { AcpProgram } from "@budgie/acp";
import type { Config } from "../config/config.ts";
import { fillHeaders } from "../elsewhere/header-variables.ts";
import { toKiroFolder } from "../config/host-paths.ts";
import { DEFAULT_MODEL } from "../config/option-values.ts";
import { toSandboxSecrets } from "../config/sandbox-options.ts";
import type { Host } from "../process/host.ts";
import { toHomeFiles } from "./home-files.ts";

/** The ways to talk to agents. */
type Protocols = Required<Pick<TurnDependencies, "acp" | "protocol">> & {
  /** The protocol of agents that run elsewhere */
  readonly a2a: Protocol;
};

export type ProtocolParts = Pick<KiroOptions, "findFlags"> & { readonly outputFiles: OutputFiles };

/** Creates the protocols: Kiro's, ACP for agents with a program of their own, and A2A for those elsewhere. */
export function createProtocols(config: Config, host: Host, parts: ProtocolParts): Protocols {
  const kiro = toKiroOptions(config, host, parts);
  return {
    protocol: config.protocol === "acp" ? whenNeeded(() => loadKiroAcp(kiro)) : createKiroProtocol(kiro),
    acp: whenNeeded(() => loadAcp(config, host.env)),
    a2a: whenNeeded(() => loadA2a(host.env)),
  };
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
  const { createAcpProtocol } = await import("@budgie/acp");
  return createKiroAcpProtocol(options, createAcpProtocol);
}

async function loadA2a(env: Host["env"]): Promise<Protocol> {
  const { createA2aProtocol } = await import("@budgie/a2a");
  return createA2aProtocol({
    toServer({ file, name, remote }) {
      if (remote === undefined) throw new TypeError(`The agent "${name}" runs here.`);
      const { headers, namesContext, url } = remote;
      return { url, namesContext, headers: fillHeaders(headers, env, `The agent "${name}" (${file})`) };
    },
  });
}

async function loadAcp({ sandbox }: Pick<Config, "sandbox">, env: Host["env"]): Promise<Protocol> {
  // Imported late, since most servers have only Kiro's agents.
  const { createAcpProtocol } = await import("@budgie/acp");
  return createAcpProtocol({
    toProgram({ agent, directory }) {
      // Without a sandbox the program has the user's own home.
      const home = sandbox ? toHomeFiles(agent, directory) : undefined;
      return toProgram(agent, { env, home, sandbox });
    },
  });
}

type Given = Pick<Config, "sandbox"> & Pick<Host, "env"> & Pick<Command, "home">;

function toProgram({ file, model, name, program }: Agent, { env, home, sandbox }: Given): AcpProgram {
  if (program === undefined) throw new TypeError(`The agent "${name}" has no program.`);
  const { argv: own, env: names, image, permission, sandboxArgs = [] } = program;
  const missing = names.filter((variable) => !env[variable]);
  if (missing.length > 0) {
    throw new BudgieError(
      "LOGIN_REQUIRED",
      `The agent "${name}" (${file}) needs ${missing.join(", ")}, which is not set where budgie was started. Set it, or take it out of "env".`,
    );
  }
  const passed = Object.fromEntries(names.map((variable) => [variable, env[variable] ?? ""]));
  // Of all programs: this one may read the settings of others, and has a preset of budgie's or not.
  const hidden = ALL_HIDDEN_PATHS;
  const argv: Command["argv"] = sandbox ? [...own, ...sandboxArgs] : own;
  return { command: { argv, env: passed, projections: [], hidden, home, image }, permission, model };
}

/** Returns the models. An agent's own file takes precedence over the default model, and `--model` over the file. */
function toModels({ model }: Config): KiroModels {
  if (model === undefined) return { model, defaultModel: DEFAULT_MODEL };
  return { model: model === "auto" ? undefined : model, defaultModel: undefined };
}

function toKiroOptions(config: Config, host: Host, { findFlags, outputFiles }: ProtocolParts): KiroOptions {
  const { env, home } = host;
  return {
    binary: config.kiroBinary,
    harness: config.kiroHarness,
    findFlags,
    ...toModels(config),
    trustAllTools: config.trustAllTools,
    prompts: { system: config.systemPrompt, contextSummary: config.contextSummaryPrompt },
    // Without a sandbox the agent inherits Kiro's variables.
    env: config.sandbox ? toSandboxSecrets(config.credentials, env) : {},
    projections: toSharedProjections(home, config.promptsDir),
    ...(config.sandbox ? { sandboxHome: home } : { kiroFolder: toKiroFolder(host) }),
    outputFiles,
    verbose: config.verbose,
  };
}
