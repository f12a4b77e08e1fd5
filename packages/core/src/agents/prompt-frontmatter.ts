import { z } from "zod";
import { BudgieError } from "../errors.ts";
import { parseFrontmatter, splitFrontmatter } from "./frontmatter.ts";

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
export type PromptFrontmatter = z.infer<typeof profileSchema>;

/** Parses a prompt file's frontmatter; `undefined` if it has none, `CONFIG_INVALID` naming `path` if it is malformed. */
export function parsePromptFrontmatter(text: string, path: string): PromptFrontmatter | undefined {
  const fields = readFields(text, path);
  if (fields === undefined) return undefined;
  const parsed = profileSchema.safeParse(fields);
  if (parsed.success) return parsed.data;
  throw new BudgieError("CONFIG_INVALID", `The frontmatter of "${path}" is not valid: ${oneLine(parsed.error)}.`);
}

function readFields(text: string, path: string): unknown {
  try {
    const found = splitFrontmatter(text);
    return found === undefined ? undefined : (parseFrontmatter(found.yaml) ?? {});
  } catch (cause) {
    throw new BudgieError("CONFIG_INVALID", `The frontmatter of "${path}" ${(cause as Error).message}.`, { cause });
  }
}

/** Returns true if a text may begin with frontmatter, also for a parser that is more lenient than budgie's. */
export function beginsFrontmatter(text: string): boolean {
  return text.trimStart().startsWith("---");
}

/** Formats an agent's description and capabilities for an orchestrator. */
export function formatDescription(description: string, profile: PromptFrontmatter | undefined): string {
  return joinParagraphs([profile?.description?.trim() || description, section("Capabilities", profile?.capabilities)]);
}

/** Formats when to use an agent and when not; empty if the profile has neither. */
export function formatWhenToUse(profile: PromptFrontmatter | undefined): string {
  return joinParagraphs([section("Use when", profile?.use_when), section("Avoid when", profile?.avoid_when)]);
}

function joinParagraphs(texts: readonly string[]): string {
  return texts.filter((text) => text !== "").join("\n\n");
}

function section(title: string, lines: readonly string[] = []): string {
  const items = lines.map((line) => line.trim()).filter((line) => line !== "");
  return items.length === 0 ? "" : [`${title}:`, ...items.map((item) => `- ${item}`)].join("\n");
}

function oneLine(error: z.ZodError): string {
  return error.issues.map((issue) => `${issue.path.join(".") || "it"}: ${issue.message}`).join("; ");
}
