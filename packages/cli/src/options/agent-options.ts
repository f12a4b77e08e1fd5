import { z } from "zod";
import { group, option } from "./option.ts";
import { DEFAULT_MODEL } from "@budgie/mcp-server";
import { KIRO_HARNESS, PATH, PROTOCOL, SPELLINGS, SWITCH, TOOL_MODES, TOOL_PREFIX } from "./option-values.ts";

// Messages complete the sentence "Expected --model to be <message>, got …".
const variable = z.string().regex(/^[A-Za-z_]\w*$/, "the name of a variable");
const model = z.string().regex(/^[\w.:/][\w.:/-]*$/, 'the name of a model, or "auto"');

/** The options of agents and of the tools that offer them. */
export const agentOptions = {
  ...group("Agents:", {
    agentsDir: option(PATH.default("~/.kiro/agents"), {
      help: "where the agents' files are",
      value: "<dir>",
      brief: "where the agents' files are",
    }),
    promptsDir: option(PATH.default("~/.kiro/sub-agents/prompts"), {
      help: "where the agents' prompt files are",
      value: "<dir>",
    }),
    systemPrompt: option(PATH.optional(), {
      help: "appended to every prompt; <prompts-dir>/_system.md by default",
      value: "<file>",
      visibility: "file",
    }),
    contextSummaryPrompt: option(PATH.optional(), {
      help: "asks for a missing answer; <prompts-dir>/_context-summary.md by default",
      value: "<file>",
      visibility: "file",
    }),
    config: option(PATH.optional(), {
      help: "a JSON file with any of these options and sections of agents; ~/.config/budgie/config.json by default, if there is one",
      value: "<file>",
      brief: "a JSON file with any of the options",
    }),
    allowRoot: option(z.array(PATH).optional(), {
      help: "one more directory that calls may work in, with all below it; anywhere by default; repeatable",
      value: "<dir>",
      repeatable: "paths",
      brief: "the only directory that calls may work in",
    }),
    model: option(model.optional(), {
      help: `for agents whose prompt file names none; an agent's own, or ${DEFAULT_MODEL}, by default; "auto" leaves the choice to Kiro`,
      value: "<name>",
    }),
    trustAllTools: option(SWITCH.default(false), {
      help: "let agents use every tool they have, unasked",
      brief: "let agents use every tool they have, unasked",
    }),
    env: option(z.array(variable).default([]), {
      help: "one more environment variable for agents, by its name; repeatable",
      value: "<variable>",
      repeatable: "list",
    }),
    kiroBinary: option(PATH.default("kiro-cli"), {
      help: "Kiro's program; with --sandbox, the one in the image",
      value: "<program>",
    }),
    protocol: option(PROTOCOL, {
      help: "how Kiro's agents are talked to: cli, or acp, whose answer is the last message and needs no file",
      value: "<name>",
    }),
    kiroHarness: option(KIRO_HARNESS, {
      help: "which harness of Kiro answers: v2, or v3, which implies --protocol acp",
      value: "<name>",
    }),
    kiroDataDir: option(PATH.optional(), {
      help: "where Kiro keeps its login; where it does on this system by default",
      value: "<dir>",
      visibility: "file",
    }),
    stateDir: option(PATH.optional(), {
      help: "where budgie keeps its run log, and who owns what; ~/.local/state/budgie by default",
      value: "<dir>",
    }),
  }),
  ...group("Tools:", {
    toolPrefix: option(TOOL_PREFIX, { help: "the prefix of the tools' names", value: "<text>" }),
    toolNames: option(z.enum(SPELLINGS, '"dotted" or "safe"').default("dotted"), {
      help: "tool-name style: dotted or safe (a-z, 0-9, _)",
      value: "<spelling>",
    }),
    tools: option(z.enum(TOOL_MODES, '"agents", "router" or "both"').default("agents"), {
      help: "what is offered: agents (a tool each), router (list_agents and invoke_agent), or both",
      value: "<mode>",
    }),
    markUntrusted: option(SWITCH.default(true), {
      help: "say in the tools' descriptions that answers are untrusted",
      visibility: "file",
    }),
  }),
};
