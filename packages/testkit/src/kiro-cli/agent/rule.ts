import type { ToolCall } from "./tool-call.ts";

/** A permission rule of V3. */
export type Rule = {
  readonly capability: string;
  readonly effect: "allow" | "ask" | "deny";
  /** Patterns of commands, paths or tools; empty for all */
  readonly match: readonly string[];
  readonly exclude: readonly string[];
};

const CAPABILITIES = "fs_read fs_write filesystem shell web_fetch web_search mcp subagent all".split(" ");
const EFFECTS = ["allow", "ask", "deny"] as const;

/** Parses `permissions`, which must be `{ rules: [...] }`: a bare list is invalid. Throws an error that says why. */
export function parseRules(permissions: unknown): readonly Rule[] {
  if (permissions === undefined) return [];
  const { rules } = (permissions ?? {}) as { readonly rules?: unknown };
  if (!Array.isArray(rules)) throw new Error("permissions: expected an object with the list `rules`");
  return rules.map(parseRule);
}

function parseRule(given: unknown): Rule {
  const { capability, effect, exclude = [], match = [] } = (given ?? {}) as Partial<Rule>;
  const known = EFFECTS.find((each) => each === effect);
  if (known === undefined) throw new Error(`permissions: unknown effect ${JSON.stringify(effect)}`);
  if (capability === undefined || !CAPABILITIES.includes(capability)) {
    throw new Error(`permissions: unknown capability ${JSON.stringify(capability)}`);
  }
  if (!Array.isArray(match) || !Array.isArray(exclude)) throw new Error("permissions: match and exclude must be lists");
  return { capability, effect: known, match: match.map(String), exclude: exclude.map(String) };
}

/** Returns the effect of rules on a tool call, of which the strictest holds; `undefined` if none is about it. */
export function toEffect(rules: readonly Rule[], call: ToolCall): Rule["effect"] | undefined {
  const effects = rules.filter((rule) => isAbout(rule, call)).map(({ effect }) => effect);
  return EFFECTS.findLast((effect) => effects.includes(effect));
}

function isAbout({ capability, exclude, match }: Rule, call: ToolCall): boolean {
  if (!toCapabilities(call.name).includes(capability)) return false;
  const subject = call.path ?? call.input["command"] ?? call.name;
  const matches = (patterns: readonly string[]) => patterns.some((pattern) => toPattern(pattern).test(subject));
  return (match.length === 0 || matches(match)) && !matches(exclude);
}

function toCapabilities(name: string): readonly string[] {
  if (name.startsWith("@")) return ["mcp", "all"];
  const own: Readonly<Record<string, readonly string[]>> = {
    fs_read: ["fs_read", "filesystem"],
    fs_write: ["fs_write", "filesystem"],
    execute_bash: ["shell"],
  };
  return [...(own[name] ?? [name]), "all"];
}

/** Returns the expression of a pattern with `*` and `?`. */
export function toPattern(glob: string): RegExp {
  const escaped = glob.replace(/[.+^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`^${escaped.replaceAll("*", ".*").replaceAll("?", ".")}$`);
}
