import type { AgentHook } from "./agent-hook.ts";
import type { NamedFile } from "./list-named-files.ts";
import type { Usage } from "../usage.ts";

/** A configured agent, as budgie offers it. */
export type Agent = {
  /** The value for `kiro-cli --agent` */
  readonly name: string;
  /** The description without its `sub-agent:` prefix, extended by the agent's prompt file if it has one; never empty */
  readonly description: string;
  /** Advice on when to use it and when not to, from the prompt file; may be empty */
  readonly whenToUse: string;
  /** Absolute path of the agent's JSON file, or the place in the configuration file that defines it */
  readonly file: string;
  /** Absolute path of the file that a sandbox shows in place of `file`; default `file` itself */
  readonly shown?: string | undefined;
  /** Absolute path of the file that its `prompt` names, if it names one */
  readonly promptFile: string | undefined;
  /** True if it may use `fs_read` and `fs_write`, and so can write its answer to a file */
  readonly writesFiles: boolean;
  /** The program that answers in place of Kiro; left out for Kiro's agents */
  readonly program?: AgentProgram | undefined;
  /** The server that answers in place of a program; left out for agents that run here */
  readonly remote?: RemoteAgent | undefined;
  /** The model in the prompt file's frontmatter, or in the configuration */
  readonly model: string | undefined;
  /** True if its own file names a model, which Kiro uses unless the command names another */
  readonly hasModel: boolean;
  /** Commands that Kiro runs by itself while the agent works */
  readonly hooks?: readonly AgentHook[];
  /** The files outside the workspace that its own file names, its prompt included */
  readonly named?: readonly NamedFile[];
  /** The reason why its file cannot be used at the moment; the other fields are then from its last usable content */
  readonly broken?: string | undefined;
};

/** A program that speaks the Agent Client Protocol on its stdin and stdout. */
export type AgentProgram = {
  readonly argv: readonly [string, ...string[]];
  /** More arguments in a sandbox; default: none */
  readonly sandboxArgs?: readonly string[] | undefined;
  /** Files to copy into its home in a sandbox: the path below the home, and the absolute path of the user's file; default: none */
  readonly home?: Readonly<Record<string, string>> | undefined;
  /** The image of its sandbox; default: the runner's */
  readonly image?: string | undefined;
  /** The answer when it asks for permission to use a tool */
  readonly permission: "allow" | "deny";
  /** The basis of the tokens in its answer to a prompt; default that of a known program */
  readonly tokenBasis?: Usage["basis"] | undefined;
};

/** An agent that runs elsewhere, and is called over A2A. */
export type RemoteAgent = {
  readonly url: string;
  /** The headers of all requests; `$NAME` in a value stands for a variable of budgie's environment */
  readonly headers: Readonly<Record<string, string>>;
  /** True if it may be called by a budgie that sandboxes agents */
  readonly allowRemote: boolean;
  /** True if budgie has to name its conversations; by default its server does */
  readonly namesContext?: boolean | undefined;
};

// A name becomes part of an argv and of a file name: no separators, no control characters, no leading dash or dot.
export const PLAIN_NAME = /^(?![\s\-.])[^/\\\p{Cc}]+$/u;

/** The name of an agent: a plain one, or plain ones with slashes between them, as of an agent in a folder. */
export const AGENT_NAME = /^(?![\s\-.])[^/\\\p{Cc}]+(?:\/(?![\s\-.])[^/\\\p{Cc}]+)*$/u;

const PREFIX = /^\s*sub-agent:\s*/i;

/** Removes the `sub-agent:` prefix from a description; `undefined` without it, since the agent is then not for budgie. */
export function withoutSubAgentPrefix(description: string): string | undefined {
  return PREFIX.test(description) ? description.replace(PREFIX, "").trim() : undefined;
}

/** Returns true if Kiro runs an agent: it has no program of its own, and does not run elsewhere. */
export function isKiros({ program, remote }: Pick<Agent, "program" | "remote">): boolean {
  return program === undefined && remote === undefined;
}
