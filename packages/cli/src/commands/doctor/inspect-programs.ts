import { BudgieError, createOwner, type Agent, type Runner } from "@budgie/core";
import type { AgentProgram } from "@budgie/core/agents";
import { inspectKiro } from "@budgie/protocols/kiro";
import { AGENT_PRESETS, type AgentPreset } from "../../agents/agent-presets.ts";
import { findMissingInputs } from "../../agents/find-missing-inputs.ts";
import { tryAgent } from "./try-agent.ts";
import type { Config } from "../../config/config.ts";
import { findOnPath } from "../../process/find-on-path.ts";
import type { Host } from "@budgie/mcp-server";
import { createRunner } from "@budgie/mcp-server/commands";
import { formatBuildTodo } from "../../agents/build-todo.ts";
import type { Finding } from "../findings/finding.ts";
import { inspectMachine } from "./inspect-machine.ts";

type Inspection = { readonly config: Config; readonly host: Host; readonly signal: AbortSignal };

/**
 * Checks the programs, variables and home files of configured agents, and the variables of agents elsewhere. Starts each program that
 * lacks nothing, as its turns do.
 */
export async function inspectPrograms(agents: readonly Agent[], inspection: Inspection): Promise<readonly Finding[]> {
  const { config, host } = inspection;
  const inspected = await Promise.all(
    agents.map(async (agent) => {
      const place = agent.program === undefined ? [] : await findProgram(agent.program, { agents, config, host });
      return { agent, isThere: place.length > 0, found: [...place, ...findMissing(agent, config, host)] };
    }),
  );
  const whole = inspected.filter(({ found, isThere }) => isThere && found.every(({ state }) => state !== "failed"));
  const started = await startPrograms(
    whole.map(({ agent }) => agent),
    inspection,
  );
  return inspected.flatMap(({ agent, found }) =>
    [...found, ...(started.get(agent) ?? [])].map(({ state, text, todo }): Finding => ({
      state,
      what: "agent",
      text: `${agent.name}: ${text}`,
      todo,
    })),
  );
}

/** Starts the agents' programs in sandboxes, one after the other, since each may take much memory. None is started as the user. */
async function startPrograms(
  agents: readonly Agent[],
  { config, host, signal }: Inspection,
): Promise<ReadonlyMap<Agent, readonly Found[]>> {
  const started = new Map<Agent, readonly Found[]>();
  if (agents.length === 0) return started;
  if (!config.sandbox) return new Map(agents.map((agent) => [agent, [NOT_STARTED]]));
  const owner = createOwner({ stateDir: config.stateDir, isolation: "container" });
  const silent = { ...host, report: () => undefined };
  let runner: Promise<Runner> | undefined;
  try {
    for (const agent of agents) {
      signal.throwIfAborted();
      host.report(`Starting the program of ${agent.name}.`);
      runner ??= createRunner({ ...config, ahead: 0, keepSessions: false }, silent, owner);
      started.set(agent, await startProgram(agent, { config, host, runner, signal }));
    }
    return started;
  } finally {
    await (await runner?.catch(() => undefined))?.close();
    await owner.release();
    signal.throwIfAborted();
  }
}

async function startProgram(
  agent: Agent,
  { runner, ...trial }: Inspection & { readonly runner: Promise<Runner> },
): Promise<readonly Found[]> {
  try {
    await tryAgent(agent, { ...trial, runner: await runner });
    return [{ state: "ok", text: "its program starts, and begins a conversation" }];
  } catch (error) {
    trial.signal.throwIfAborted();
    return [{ state: "failed", text: error instanceof BudgieError ? error.message : String(error) }];
  }
}

type Found = Pick<Finding, "state" | "text" | "todo">;

const NOT_STARTED: Found = {
  state: "note",
  text: 'its program was not started, since it would run as you: "budgie doctor --sandbox" starts it in a sandbox',
};

type Context = { readonly agents: readonly Agent[]; readonly config: Config; readonly host: Host };

async function findProgram(program: AgentProgram, place: Context): Promise<readonly Found[]> {
  const { config, host } = place;
  return config.sandbox ? findInImage(program, place) : findHere(program, host.env["PATH"]);
}

/** Looks for a program in the image of an agent's sandbox. Other findings report a missing default image. */
async function findInImage(agentProgram: AgentProgram, place: Context): Promise<readonly Found[]> {
  const { argv, image } = agentProgram;
  const { agents, config, host } = place;
  const name = image ?? config.sandboxImage;
  const facts = await inspectMachine({ ...config, kiroBinary: argv[0] }, host, name);
  if (!facts.engine.ok) return [];
  if (!facts.image.ok) return image === undefined ? [] : [{ state: "failed", text: facts.image.problem }];
  const { program } = facts;
  if (program.ok) {
    return [{ state: "ok", text: `"${program.facts.path}" in the image "${name}"` }, ...findOwnSandbox(agentProgram)];
  }
  const isHere = (other: AgentProgram): boolean => (other.image ?? config.sandboxImage) === name;
  const programs = agents.flatMap((agent) => (agent.program && isHere(agent.program) ? [agent.program.argv[0]] : []));
  return [{ state: "failed", text: program.problem, todo: findTodo(argv[0], programs, name) }];
}

/** Looks whether a project's image can run the agents, with the programs of `--sandbox-image` beside it, and starts its Kiro. */
export async function inspectImage(
  image: string | undefined,
  { agents, config, host }: Context,
): Promise<readonly Finding[]> {
  if (image === undefined) return [];
  const named = agents.flatMap(({ program, remote }) => (remote ? [] : (program?.argv[0] ?? config.kiroBinary)));
  const programs = new Set(named.length === 0 ? [config.kiroBinary] : named);
  const found = [...programs].map(async (program): Promise<Finding> => {
    const facts = await inspectMachine({ ...config, sandbox: true, kiroBinary: program }, host, image);
    if (!facts.engine.ok) return makeFinding(image, "failed", facts.engine.problem);
    if (!facts.image.ok) return makeFinding(image, "failed", facts.image.problem);
    if (!facts.program.ok) return makeFinding(image, "failed", facts.program.problem);
    const { path } = facts.program.facts;
    if (program !== config.kiroBinary) return makeFinding(image, "ok", `"${path}", and a /bin/sh to start it`);
    const kiro = facts.print && (await inspectKiro(facts.print, path).catch(() => undefined));
    return kiro?.version === undefined
      ? makeFinding(
          image,
          "failed",
          `"${path}" does not run there. An image needs a libc that suits it: Kiro's usual programs need glibc.`,
        )
      : makeFinding(image, "ok", `"${path}" runs there, and is ${kiro.version}`);
  });
  return Promise.all(found);
}

function makeFinding(image: string, state: Finding["state"], text: string): Finding {
  return { state, what: "image", text: `${image}: ${text}` };
}

/** Notes that an entry lacks arguments of its preset, unless its home gets settings, which may have the same effect. */
function findOwnSandbox({ argv: [command, ...args], home = {}, sandboxArgs = [] }: AgentProgram): readonly Found[] {
  const presets = Object.entries<AgentPreset>(AGENT_PRESETS);
  const [name, preset] = presets.find(([, { sandboxArgs: own, ...other }]) => own && other.command === command) ?? [];
  const given = [...args, ...sandboxArgs];
  const missing = preset?.sandboxArgs?.filter((arg) => !given.includes(arg)) ?? [];
  const hasSettings = Object.keys(home).some((path) => path.endsWith("config.toml"));
  if (missing.length === 0 || hasSettings) return [];
  const text = `its own sandbox does not work inside budgie's, so it may run no command: it lacks "sandboxArgs" (${missing.join(" ")}), which "budgie agents add ${name} --force" writes`;
  return [{ state: "note", text }];
}

/** Returns the command that builds an image with a preset's program, and with those of the image's other agents. */
function findTodo(command: string, programs: readonly string[], image: string): string | undefined {
  if (findPreset(command) === undefined) return undefined;
  const presets = [...new Set(programs.flatMap((program) => findPreset(program) ?? []))];
  return formatBuildTodo({ image, isThere: true, presets });
}

function findPreset(command: string): string | undefined {
  const presets = Object.entries<AgentPreset>(AGENT_PRESETS);
  return presets.find(([, { npm, ...other }]) => npm !== undefined && other.command === command)?.[0];
}

function findHere({ argv: [command] }: AgentProgram, path: string | undefined): readonly Found[] {
  const found = findOnPath(command, path);
  if (found !== undefined) return [{ state: "ok", text: `"${found}"` }];
  return [{ state: "failed", text: `there is no program "${command}"${command.includes("/") ? "" : " on the PATH"}` }];
}

function findMissing(agent: Agent, config: Config, host: Host): readonly Found[] {
  const { files, variables } = findMissingInputs(agent, config, host);
  return [
    ...variables.map((name): Found => ({ state: "failed", text: `it needs ${name}, which is not set here` })),
    ...files.map((file): Found => ({ state: "failed", text: `it needs "${file}", which is not there` })),
  ];
}
