import type { Agent, AgentProgram } from "@budgie/core";
import { AGENT_PRESETS, type AgentPreset } from "../../agents/agent-presets.ts";
import { findMissingInputs } from "../../agents/missing-inputs.ts";
import type { Config } from "../../config/config.ts";
import { findOnPath } from "../../process/find-on-path.ts";
import type { Host } from "../../process/host.ts";
import { toBuildTodo } from "./build-todo.ts";
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
    const place = program === undefined ? [] : await findProgram(program, { agents, config, host });
    return [...place, ...findMissing(agent, config, host)].map(toFinding);
  });
  return (await Promise.all(found)).flat();
}

type Found = Pick<Finding, "state" | "text" | "todo">;

type Place = { readonly agents: readonly Agent[]; readonly config: Config; readonly host: Host };

async function findProgram(program: AgentProgram, place: Place): Promise<readonly Found[]> {
  const { config, host } = place;
  return config.sandbox ? findInImage(program, place) : findHere(program, host.env["PATH"]);
}

/** Looks for a program in the image of an agent's sandbox. Other findings report a missing default image. */
async function findInImage({ argv, image }: AgentProgram, { agents, config, host }: Place): Promise<readonly Found[]> {
  const name = image ?? config.sandboxImage;
  const facts = await inspectMachine({ ...config, sandboxImage: name, kiroBinary: argv[0] }, host);
  if (!facts.engine.ok) return [];
  if (!facts.image.ok) return image === undefined ? [] : [{ state: "failed", text: facts.image.problem }];
  const { program } = facts;
  if (program.ok) return [{ state: "ok", text: `"${program.facts.path}" in the image "${name}"` }];
  const isHere = (other: AgentProgram): boolean => (other.image ?? config.sandboxImage) === name;
  const programs = agents.flatMap((agent) => (agent.program && isHere(agent.program) ? [agent.program.argv[0]] : []));
  return [{ state: "failed", text: program.problem, todo: toTodo(argv[0], programs, name) }];
}

/** Returns the command that builds an image with a preset's program, and with those of the image's other agents. */
function toTodo(command: string, programs: readonly string[], image: string): string | undefined {
  if (toPreset(command) === undefined) return undefined;
  const presets = [...new Set(programs.flatMap((program) => toPreset(program) ?? []))];
  return toBuildTodo({ image, isThere: true, presets });
}

function toPreset(command: string): string | undefined {
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
