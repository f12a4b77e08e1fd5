import { isSyntaxError, parseFrontmatter } from "./frontmatter.ts";

/**
 * Parses frontmatter that is not YAML as other programs do: field by field, with a text in place of a field that is none, such as
 * `description: Reviews: all`. Returns `undefined` if that does not help either.
 */
export function parseLenientFields(yaml: string): Readonly<Record<string, unknown>> | undefined {
  const fields = new Map<string, unknown>();
  for (const lines of splitFields(yaml)) {
    const parsed = parseField(lines);
    for (const [key, value] of parsed ?? []) {
      // Nobody can tell which of two was meant.
      if (fields.has(key)) return undefined;
      fields.set(key, value);
    }
    if (parsed === undefined) return undefined;
  }
  return Object.fromEntries(fields);
}

// Fields that may hold any text. The others say what an agent may do, so a guess could allow more than was meant.
const TEXTS: ReadonlySet<string> = new Set(["color", "description", "model", "name"]);
// A list of names on one line, such as `*` and `@git, read`. In a longer one a comment would count.
const TOOLS = /^(?:allowedTools|tools):[^#[\]{}\n]+$/;

// A text may contain lines such as `user: Hello`, so only keys of Kiro and Claude Code begin a field.
const KEY =
  /^["']?(?<key>allowedTools|background|color|description|disallowedTools|effort|excludedTools|hooks|includeMcpJson|includePowers|isolation|keyboardShortcut|license|maxTurns|mcpServers|memory|metadata|model|name|permissionMode|permissions|prompt|resources|skills|tags|toolAliases|tools|toolsSettings|version|welcomeMessage)["']? *:(?=\s|$)/;

function splitFields(yaml: string): readonly (readonly string[])[] {
  const fields: string[][] = [];
  // Editors may indent with tabs, which YAML forbids.
  for (const line of yaml.split(/\r?\n/).map((line) => line.replace(/^[ \t]+/, expandTabs))) {
    const last = fields.at(-1);
    if (last === undefined || KEY.test(line)) fields.push([line]);
    else last.push(line);
  }
  return fields;
}

function expandTabs(indent: string): string {
  return indent.replaceAll("\t", "  ");
}

function parseField(lines: readonly string[]): readonly (readonly [string, unknown])[] | undefined {
  try {
    const parsed = parseFrontmatter(lines.join("\n")) ?? {};
    return typeof parsed === "object" ? Object.entries(parsed) : undefined;
  } catch (error) {
    if (!isSyntaxError(error)) return undefined;
    const text = lines.join("\n").trimEnd();
    const key = KEY.exec(text)?.groups?.["key"];
    if (key === undefined || !(TEXTS.has(key) || TOOLS.test(text))) return undefined;
    return [[key, parseText(text)]];
  }
}

function parseText(field: string): string {
  const text = field.slice(field.indexOf(":") + 1).trim();
  const quoted = /^(?:"(?<double>.*)"|'(?<single>.*)')$/s.exec(text)?.groups;
  return quoted?.["double"] ?? quoted?.["single"] ?? text;
}
