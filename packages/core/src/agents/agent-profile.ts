import { createRequire } from "node:module";
import type Yaml from "yaml";
import { z } from "zod";
import { BudgieError } from "../errors.ts";

// A single item may be written without a list; a blank field is null in YAML.
const items = z
  .union([z.string(), z.array(z.string()), z.null()], "must be a text or a list of texts")
  .default(null)
  .transform((value) => (value === null ? [] : [value].flat()));

const profileSchema = z.looseObject({
  name: z.string().nullish(),
  description: z.string().nullish(),
  capabilities: items,
  use_when: items,
  avoid_when: items,
  tools: items,
  // The model becomes an argument of kiro-cli, so it must not look like a flag.
  model: z
    .string()
    .regex(/^[\w.:/][\w.:/-]*$/, "must be a model's name")
    .nullish(),
  tags: items,
});

/** The frontmatter of an agent's prompt file. */
export type AgentProfile = z.infer<typeof profileSchema>;

const BEGIN = /^\uFEFF?---[ \t]*\r?\n/;
const END = /^---[ \t]*\r?$/m;

/** Parses a prompt file's frontmatter; `undefined` if it has none, `CONFIG_INVALID` naming `path` if it is malformed. */
export function parseAgentProfile(text: string, path: string): AgentProfile | undefined {
  if (!BEGIN.test(text)) return undefined;
  const rest = text.replace(BEGIN, "");
  const end = rest.search(END);
  if (end < 0) {
    throw new BudgieError("CONFIG_INVALID", `The frontmatter of "${path}" has no end. Add a line "---" after it.`);
  }
  const parsed = profileSchema.safeParse(toValue(rest.slice(0, end), path) ?? {});
  if (parsed.success) return parsed.data;
  throw new BudgieError("CONFIG_INVALID", `The frontmatter of "${path}" is not valid: ${oneLine(parsed.error)}.`);
}

/** Returns true if a text may begin with frontmatter, also for a parser that is more lenient than budgie's. */
export function beginsFrontmatter(text: string): boolean {
  return text.trimStart().startsWith("---");
}

/** Formats an agent's description and capabilities for an orchestrator. */
export function toEnhancedDescription(description: string, profile: AgentProfile | undefined): string {
  return toParagraphs([profile?.description?.trim() || description, section("Capabilities", profile?.capabilities)]);
}

/** Formats when to use an agent and when not; empty if the profile has neither. */
export function toWhenToUse(profile: AgentProfile | undefined): string {
  return toParagraphs([section("Use when", profile?.use_when), section("Avoid when", profile?.avoid_when)]);
}

function toParagraphs(texts: readonly string[]): string {
  return texts.filter((text) => text !== "").join("\n\n");
}

function section(title: string, lines: readonly string[] = []): string {
  const items = lines.map((line) => line.trim()).filter((line) => line !== "");
  return items.length === 0 ? "" : [`${title}:`, ...items.map((item) => `- ${item}`)].join("\n");
}

// The parser compares each key of a map with all others before it.
const LONGEST = 64 * 1024;
// Far more than lists of strings need, and too few to overflow the stack.
const MOST_BRACKETS = 500;
const DEEP_LINE = /^(?: {200}|[ \t]*(?:[-?:][ \t]+){100})/m;

/** Rejects deep nesting before parsing. The parser is recursive, and V8 may abort the process on a stack overflow instead of throwing. */
function refuseDeep(yaml: string, path: string): void {
  const brackets = yaml.match(/[[{]/g)?.length ?? 0;
  if (brackets <= MOST_BRACKETS && !DEEP_LINE.test(yaml)) return;
  throw new BudgieError("CONFIG_INVALID", `The frontmatter of "${path}" is nested too deeply.`);
}

function toValue(yaml: string, path: string): unknown {
  refuseDeep(yaml, path);
  if (yaml.length > LONGEST)
    throw new BudgieError("CONFIG_INVALID", `The frontmatter of "${path}" is longer than 64 KiB. Shorten it.`);
  try {
    // Loaded on demand: many agents have no frontmatter, and it would be the largest library loaded at startup.
    const { parse } = createRequire(import.meta.url)("yaml") as typeof Yaml;
    return parse(yaml) as unknown;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message.split("\n")[0]?.replace(/:$/, "") : String(cause);
    throw new BudgieError("CONFIG_INVALID", `The frontmatter of "${path}" is not YAML: ${reason}.`, { cause });
  }
}

function oneLine(error: z.ZodError): string {
  return error.issues.map((issue) => `${issue.path.join(".") || "it"}: ${issue.message}`).join("; ");
}
