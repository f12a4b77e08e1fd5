import { parse } from "yaml";
import { z } from "zod";
import { BudgieError } from "./errors.ts";

// A single item may be written without the list; a field left blank is null in YAML.
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
  // It becomes an argument of kiro-cli, so it must not look like a flag.
  model: z
    .string()
    .regex(/^[\w.:/][\w.:/-]*$/, "must be a model's name")
    .nullish(),
  tags: items,
});

/** What the frontmatter of an agent's prompt file says about it. */
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

/** The tool description an orchestrator reads: what the agent is, what it can do, when to use it and when not. */
export function toEnhancedDescription(description: string, profile: AgentProfile | undefined): string {
  if (profile === undefined) return description;
  const sections = [
    section("Capabilities", profile.capabilities),
    section("Use when", profile.use_when),
    section("Avoid when", profile.avoid_when),
  ];
  return [profile.description?.trim() || description, ...sections].filter((text) => text !== "").join("\n\n");
}

function section(title: string, lines: readonly string[]): string {
  return lines.length === 0 ? "" : [`${title}:`, ...lines.map((line) => `- ${line.trim()}`)].join("\n");
}

function toValue(yaml: string, path: string): unknown {
  try {
    return parse(yaml) as unknown;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message.split("\n")[0]?.replace(/:$/, "") : String(cause);
    throw new BudgieError("CONFIG_INVALID", `The frontmatter of "${path}" is not YAML: ${reason}.`, { cause });
  }
}

function oneLine(error: z.ZodError): string {
  return error.issues.map((issue) => `${issue.path.join(".") || "it"}: ${issue.message}`).join("; ");
}
