import { existsSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { BudgieError, DEFAULT_HYGIENE, parseTimeout, type TurnRateLimits } from "@budgie/core";
import { loadConfigFile } from "./config-file.ts";
import type { Host } from "./host.ts";
import { toAbsolutePath, toKiroDataDir, toStateDir } from "./host-paths.ts";
import { toPolicies, type Policies } from "./policies.ts";

// Messages say what was expected: "Expected --model to be <message>, got …".
const path = z.string().min(1, "a path");
const flag = z.union([z.boolean(), z.stringbool()], '"true" or "false"');
const model = z.string().regex(/^[\w.:/][\w.:/-]*$/, 'the name of a model, or "auto"');
const prefix = z
  .string()
  .regex(/^[A-Za-z0-9_.-]{0,60}$/, 'at most 60 letters, digits, "_", "-" and "."')
  .default("kiro-subagents.");
const variable = z.string().regex(/^[A-Za-z_]\w*$/, "the name of a variable");

const limit = z.union(
  [
    z.int().nonnegative(),
    z
      .string()
      .regex(/^\d{1,15}$/)
      .transform(Number),
  ],
  "a number of bytes, or 0 for no limit",
);
const rate = z.string().regex(/^(?:.+=)?\d{1,9}$/s, 'a number, or an agent and its number such as "code-reviewer=5"');

/** The options as they are given, by flag or variable; the descriptions are the help text. */
export const configSchema = z.strictObject({
  agentsDir: path.default("~/.kiro/agents").describe("where the agents' JSON files are"),
  sessionsDir: path
    .default("~/.kiro/sub-agents/sessions")
    .describe("where sessions have their folders, unless in a sandbox"),
  promptsDir: path.default("~/.kiro/sub-agents/prompts").describe("where the agents' prompt files are"),
  systemPrompt: path.optional().describe("appended to every prompt; <prompts-dir>/_system.md by default"),
  contextSummaryPrompt: path
    .optional()
    .describe("asks for a missing answer; <prompts-dir>/_context-summary.md by default"),
  kiroBinary: path.default("kiro-cli").describe("Kiro's program; with --sandbox, the one in the image"),
  kiroDataDir: path.optional().describe("where Kiro keeps its login; where it does on this system by default"),
  stateDir: path.optional().describe("where budgie records who owns what; ~/.local/state/budgie by default"),
  toolPrefix: prefix.describe("what the tools' names begin with"),
  agentTimeout: z.string().default("10m").describe("how long one try may take, such as 90s, 10m or 1h30m"),
  model: model.default("claude-sonnet-4.5").describe('for agents that name none; "auto" leaves the choice to Kiro'),
  trustAllTools: flag.default(false).describe("let agents use every tool they have, unasked"),
  env: z
    .array(variable)
    .default([])
    .describe("one more variable that agents get to see, unless in a sandbox; repeatable"),
  config: path.optional().describe("a JSON file with allowed roots and a section for each agent; none by default"),
  allowRoot: z
    .array(path)
    .optional()
    .describe("one more directory that calls may work in, with all below it; anywhere by default; repeatable"),
  workspace: z
    .enum(["ro", "rw"], '"ro" or "rw"')
    .default("rw")
    .describe("whether agents in a sandbox may write to the directory that they work in: rw or ro"),
  sandbox: flag.default(false).describe("run every agent in a container of its own"),
  sandboxImage: z
    .string()
    .min(1, "the name of an image")
    .default("budgie-sandbox:latest")
    .describe("what the sandbox is made of"),
  credentials: z
    .enum(["full", "access-token", "api-key", "none"], '"full", "access-token", "api-key" or "none"')
    .default("full")
    .describe("what of Kiro's login a sandbox gets: full, access-token, api-key or none"),
  runtime: z
    .string()
    .regex(/^[\w.:/-]+$/, "the name of a runtime, such as runsc")
    .optional()
    .describe("what the engine runs sandboxes with, such as runsc or kata; its own default if left out"),
  protectExecutablePaths: flag
    .default(false)
    .describe("with --sandbox: what the host runs by itself, such as git hooks, is read-only where it exists"),
  sanitize: flag
    .default(DEFAULT_HYGIENE.sanitize)
    .describe("remove invisible and control characters from prompts and answers; --no-sanitize leaves them"),
  maxPromptBytes: limit
    .default(DEFAULT_HYGIENE.maxPromptBytes)
    .describe("refuse longer prompts; 400000 by default, 0 refuses none"),
  maxAnswerBytes: limit
    .default(DEFAULT_HYGIENE.maxAnswerBytes)
    .describe("cut longer answers, and keep them whole in the session's home; 100000 by default, 0 cuts none"),
  maxTurnsPerMinute: z
    .array(rate)
    .default([])
    .describe("refuse more turns, of all agents (30) or of one (code-reviewer=5); repeatable, 0 for no limit"),
  markUntrusted: flag
    .default(true)
    .describe("say in the tools' descriptions that answers are untrusted; --no-mark-untrusted does not"),
  listTools: flag.default(false).describe("print the tools and what they do, and exit"),
  debug: flag.default(false).describe("print everything a client is told about the tools, and exit"),
  verbose: flag.default(false).describe("log every chat in its session's home, and every turn on stderr"),
});

/** The name of an option, as a key of {@link configSchema}. */
export type ConfigKey = keyof typeof configSchema.shape;

/** The options as the program uses them: checked, and all paths absolute. */
export type Config = Omit<
  z.infer<typeof configSchema>,
  "agentTimeout" | "allowRoot" | "maxTurnsPerMinute" | "model" | "workspace" | FilledIn
> &
  Readonly<Record<FilledIn, string>> & {
    /** Empty for anywhere */
    readonly allowRoot: readonly string[];
    readonly policies: Policies;
    readonly maxTurnsPerMinute: TurnRateLimits;
    /** `undefined` leaves the choice to Kiro */
    readonly model: string | undefined;
  };

/** What has a default that depends on the machine or on other options */
type FilledIn = "contextSummaryPrompt" | "kiroDataDir" | "stateDir" | "systemPrompt";

/** Checks the options, or throws `CONFIG_INVALID` naming the option, its value and what was expected. */
export function parseConfig(values: Readonly<Record<string, unknown>>, host: Host): Config {
  const parsed = configSchema.safeParse(values);
  if (!parsed.success) throw toConfigError(parsed.error, values);
  const { agentTimeout: _, model: modelName, workspace: __, ...options } = parsed.data;
  const promptsDir = toAbsolutePath(options.promptsDir, host);
  return {
    ...options,
    promptsDir,
    ...loadAccess(parsed.data, host),
    agentsDir: toAbsolutePath(options.agentsDir, host),
    sessionsDir: toAbsolutePath(options.sessionsDir, host),
    systemPrompt: toPromptFile("systemPrompt", options.systemPrompt, host) ?? join(promptsDir, "_system.md"),
    contextSummaryPrompt:
      toPromptFile("contextSummaryPrompt", options.contextSummaryPrompt, host) ??
      join(promptsDir, "_context-summary.md"),
    kiroBinary: options.sandbox ? options.kiroBinary : toBinary(options.kiroBinary, host),
    kiroDataDir: toAbsolutePath(options.kiroDataDir ?? toKiroDataDir(host), host),
    stateDir: toAbsolutePath(options.stateDir ?? toStateDir(host), host),
    maxTurnsPerMinute: toTurnRateLimits(options.maxTurnsPerMinute),
    model: modelName === "auto" ? undefined : modelName,
  };
}

/** What the configuration file says, under what the options say. */
function loadAccess(
  options: z.infer<typeof configSchema>,
  host: Host,
): Pick<Config, "allowRoot" | "config" | "policies"> {
  const file = options.config === undefined ? undefined : toAbsolutePath(options.config, host);
  const { agents, allowRoot } = loadConfigFile(file, host.home);
  const timeoutMs = parseTimeout(options.agentTimeout, toFlag("agentTimeout"));
  return {
    config: file,
    allowRoot: options.allowRoot?.map((root) => toAbsolutePath(root, host)) ?? allowRoot,
    policies: toPolicies({
      ceiling: { workspace: options.workspace, egress: { mode: "bridge", hosts: [] }, limits: {}, timeoutMs },
      sections: agents,
      file,
      sandbox: options.sandbox,
    }),
  };
}

/** The flag of an option, such as `--agents-dir`. */
export function toFlag(key: string): string {
  return `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** The environment variable of an option, such as `BUDGIE_AGENTS_DIR`. */
export function toVariable(key: string): string {
  return `BUDGIE_${toFlag(key).slice(2).replaceAll("-", "_").toUpperCase()}`;
}

function toConfigError({ issues: [issue] }: z.ZodError, values: Readonly<Record<string, unknown>>): BudgieError {
  const [key = ""] = issue?.path.map(String) ?? [];
  const value = issue?.path.length === 2 ? (values[key] as readonly unknown[])[Number(issue.path[1])] : values[key];
  const name = `${toFlag(key)} (or ${toVariable(key)})`;
  return new BudgieError("CONFIG_INVALID", `Expected ${name} to be ${issue?.message}, got ${JSON.stringify(value)}.`);
}

/** What is said later holds: `30`, `reviewer=5`, `reviewer=0`. */
function toTurnRateLimits(values: readonly string[]): TurnRateLimits {
  const pairs = values.map((value): [string, number | undefined] => {
    const at = value.lastIndexOf("=");
    return [value.slice(0, Math.max(at, 0)), Number(value.slice(at + 1)) || undefined];
  });
  const { "": all, ...agents } = Object.fromEntries(pairs);
  const limited = Object.entries(agents).filter((pair): pair is [string, number] => pair[1] !== undefined);
  return { all, agents: new Map(limited) };
}

/** The built-in prompt is for a file that nobody named; one that was named and is not there is a mistake. */
function toPromptFile(key: ConfigKey, file: string | undefined, host: Host): string | undefined {
  const absolute = file === undefined ? undefined : toAbsolutePath(file, host);
  if (absolute === undefined || existsSync(absolute)) return absolute;
  throw new BudgieError(
    "CONFIG_INVALID",
    `There is no file "${absolute}" for ${toFlag(key)}. Create it, or leave the option out.`,
  );
}

/** A bare name is looked up on the PATH; a path must not depend on the folder that the agent starts in. */
function toBinary(binary: string, host: Host): string {
  return binary.includes("/") ? toAbsolutePath(binary, host) : binary;
}
