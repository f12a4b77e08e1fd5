import { z } from "zod";
import type { AgentHook } from "./agent-hooks.ts";

/** An agent that someone configured, as budgie offers it. */
export type Agent = {
  /** What `kiro-cli --agent` is given */
  readonly name: string;
  /** Without the `sub-agent:` prefix; enhanced by the agent's prompt file if it has one; never empty */
  readonly description: string;
  /** When to use it and when not, from the prompt file; empty if nothing is said there */
  readonly whenToUse: string;
  /** Absolute path of the agent's JSON file */
  readonly file: string;
  /** Absolute path of the file that its `prompt` names, if it names one */
  readonly promptFile: string | undefined;
  /** Whether it may use `fs_read` and `fs_write`, and so can hand in its answer as a file */
  readonly writesFiles: boolean;
  /** From the prompt file's frontmatter */
  readonly model: string | undefined;
  /** Commands that Kiro runs by itself while the agent works */
  readonly hooks?: readonly AgentHook[];
  /** Why its file cannot be used at the moment, if it cannot: all of the above is then from before */
  readonly broken?: string | undefined;
};

// A name becomes part of an argv and of a file name: no separators, no control characters, no leading dash or dot.
const NAME = /^(?![\s\-.])[^/\\\p{Cc}]+$/u;

/** The part of a Kiro agent file that budgie reads; everything else is the agent's own business. */
export const agentFileSchema = z.looseObject({
  name: z.string().regex(NAME, "must not be empty, begin with a blank, a dash or a dot, or hold a slash"),
  description: z.string().nullish(),
  prompt: z.string().nullish(),
  tools: z.array(z.string()).optional(),
  allowedTools: z.array(z.string()).optional(),
  hooks: z.unknown().optional(),
});

export type AgentFile = z.infer<typeof agentFileSchema>;

const PREFIX = /^\s*sub-agent:\s*/i;

/** The description without its `sub-agent:` prefix, or `undefined` when it has none and the agent is not for budgie. */
export function toSubAgentDescription(description: string): string | undefined {
  return PREFIX.test(description) ? description.replace(PREFIX, "").trim() : undefined;
}

// Kiro's newer names stand next to the older ones.
const FILE_TOOLS = [
  ["fs_read", "read"],
  ["fs_write", "write"],
] as const;

/** Whether an agent has the tools that read and write files, and may use them without being asked. */
export function allowsFileTools({ allowedTools = [], tools = ["*"] }: AgentFile): boolean {
  const holds = (patterns: readonly string[], names: readonly string[]): boolean =>
    names.some((name) => patterns.some((pattern) => matches(pattern, name)));
  return FILE_TOOLS.every((names) => holds(tools, names) && holds(allowedTools, names));
}

/** Native tools are matched by globs without `@`; `@builtin` is all of them. */
function matches(pattern: string, tool: string): boolean {
  if (pattern === "@builtin") return true;
  return isCovered(pattern, tool);
}

/** Matches a name against a glob of `*` and `?`. It goes back to the last star only, so that no glob takes exponential time. */
function isCovered(glob: string, name: string): boolean {
  let [at, star, resume] = [0, -1, 0];
  let next = 0;
  while (next < name.length) {
    if (glob[at] === "*") [star, resume, at] = [at, next, at + 1];
    else if (glob[at] === "?" || glob[at] === name[next]) [at, next] = [at + 1, next + 1];
    else if (star < 0) return false;
    else [at, next, resume] = [star + 1, resume + 1, resume + 1];
  }
  return glob.slice(at).replaceAll("*", "") === "";
}
