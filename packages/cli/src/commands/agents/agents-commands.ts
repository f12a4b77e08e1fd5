import { Argument, type Command } from "commander";
import { AGENT_PRESET_NAMES, type AgentPresetName } from "../../agents/agent-presets.ts";
import { parsePreset } from "../../agents/parse-preset.ts";
import type { AddAgentOptions } from "./add-agent.ts";
import type { CheckOptions } from "./check-agents.ts";

type AgentsActions = {
  readonly add: (options: AddAgentOptions) => Promise<void>;
  readonly check: (options: CheckOptions) => Promise<void>;
  readonly list: (options: { readonly json: boolean }) => Promise<void>;
};

type AddArguments = { readonly name?: string; readonly dryRun?: boolean; readonly force?: boolean };

/** Adds `budgie agents add`, `budgie agents check` and `budgie agents ls`. */
export function addAgentsCommands(program: Command, { add, check, list }: AgentsActions): void {
  const agents = program
    .command("agents")
    .summary("the agents on offer, and programs beside Kiro")
    .description("the agents on offer, and programs beside Kiro that can be agents");
  agents
    .command("add")
    .addArgument(new Argument("<preset>", `one of ${AGENT_PRESET_NAMES.join(", ")}`).argParser(parsePreset))
    .description("write an agent into the file of --config, and show what changes")
    .option("--name <name>", "what the agent is called; the preset's name by default")
    .option("--force", "replace an agent of this name in the file")
    .option("--dry-run", "show what would change, and write nothing")
    .action((preset: AgentPresetName, { dryRun = false, force = false, name = preset }: AddArguments) =>
      add({ preset, name, force, dryRun }),
    );
  agents
    .command("check")
    .argument("[path]", "a file or a folder; --agents-dir by default")
    .description("say what budgie understands of agent files, and which of Kiro's harnesses can run them")
    .option("--json", "print JSON")
    .action((path: string | undefined, { json = false }: { json?: boolean }) => check({ path, json }));
  agents
    .command("ls", { isDefault: true })
    .description("print all agents: their protocol, what holds them, and where each comes from")
    .option("--json", "print JSON")
    .action(({ json = false }: { json?: boolean }) => list({ json }));
}
