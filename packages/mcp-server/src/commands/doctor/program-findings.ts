import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import type { Agent, AgentProgram } from "@budgie/core";
import { AGENT_PRESETS, type AgentPreset } from "../../agents/agent-presets.ts";
import { findMissingInputs } from "../../agents/missing-inputs.ts";
import type { Config } from "../../config/config.ts";
import type { Host } from "../../process/host.ts";
import type { Finding } from "./finding.ts";
import { inspectMachine } from "./inspect-machine.ts";

/** Checks the programs, variables and home files of configured agents, and the variables of agents elsewhere. */
export async function inspectPrograms(
  agents: readonly Agent[],
  config: Config,
  host: Host,
): Promise<readonly Finding[]> {
  const found = agents.map(async (agent) => {
    const { name, program } = agent;
    const toFinding = ({ state, text, todo }: Found): Finding => ({
      state,
      what: "agent",
      text: `${name}: ${text}`,
      todo,
    });
    const place = program === undefined ? [] : await findProgram(program, config, host);
    return [...place, ...findMissing(agent, config, host)].map(toFinding);
  });
  return (await Promise.all(found)).flat();
}

type Found = Pick<Finding, "state" | "text" | "todo">;

async function findProgram(program: AgentProgram, config: Config, host: Host): Promise<readonly Found[]> {
  return config.sandbox ? findInImage(program, config, host) : findOnPath(program, host.env["PATH"]);
}

/** Looks for a program in the image of an agent's sandbox. Other findings report a missing default image. */
async function findInImage(agentProgram: AgentProgram, config: Config, host: Host): Promise<readonly Found[]> {
  const { argv, image } = agentProgram;
  const name = image ?? config.sandboxImage;
  const facts = await inspectMachine({ ...config, sandboxImage: name, kiroBinary: argv[0] }, host);
  if (!facts.engine.ok) return [];
  if (!facts.image.ok) return image === undefined ? [] : [{ state: "failed", text: facts.image.problem }];
  const { program } = facts;
  if (program.ok) {
    return [{ state: "ok", text: `"${program.facts.path}" in the image "${name}"` }, ...findOwnSandbox(agentProgram)];
  }
  return [{ state: "failed", text: program.problem, todo: toBuild(argv[0], name) }];
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

/** Returns the command that builds an image with a preset's program. */
function toBuild(command: string, image: string): string | undefined {
  const presets = Object.entries<AgentPreset>(AGENT_PRESETS);
  const [preset] = presets.find(([, { npm, ...other }]) => npm !== undefined && other.command === command) ?? [];
  return preset === undefined ? undefined : `budgie build-image --tag ${image} --with ${preset}`;
}

function findOnPath({ argv: [command] }: AgentProgram, path = ""): readonly Found[] {
  const candidates = command.includes("/") ? [command] : path.split(delimiter).map((folder) => join(folder, command));
  const found = candidates.find(isExecutable);
  if (found !== undefined) return [{ state: "ok", text: `"${found}"` }];
  return [{ state: "failed", text: `there is no program "${command}"${command.includes("/") ? "" : " on the PATH"}` }];
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function findMissing(agent: Agent, config: Config, host: Host): readonly Found[] {
  const { files, variables } = findMissingInputs(agent, config, host);
  return [
    ...variables.map((name): Found => ({ state: "failed", text: `it needs ${name}, which is not set here` })),
    ...files.map((file): Found => ({ state: "failed", text: `it needs "${file}", which is not there` })),
  ];
}
