import { toTriggerKey, listKiroTools } from "@budgie/core/agents";

/** Hooks as V2 has them, by trigger. */
export type V2Hooks = Readonly<Record<string, readonly unknown[]>>;

/**
 * Returns hooks in V2's form, whether they are listed by trigger, name their trigger as Kiro writes them since 2.37, or are nested as in
 * Claude Code. Throws for a guard that V2 could not run.
 */
export function toV2Hooks(hooks: unknown): V2Hooks {
  const byTrigger: Record<string, Entry[]> = {};
  for (const { entry, isV2s, trigger } of listHooks(hooks)) {
    const known = TRIGGERS.get(toTriggerKey(trigger));
    if (known === undefined || entry["enabled"] === false) continue;
    const command = entry["command"] ?? Object(entry["action"])["command"];
    const isReady = isV2s && isKnownTo(known, entry);
    if (typeof command === "string") (byTrigger[known] ??= []).push(...(isReady ? [entry] : toEntries(entry, command)));
    else if (known === "preToolUse") throw unusable();
  }
  return byTrigger;
}

const TRIGGERS: ReadonlyMap<string, string> = new Map(
  ["agentSpawn", "userPromptSubmit", "preToolUse", "postToolUse", "stop"].map((name) => [name.toLowerCase(), name]),
);

type Entry = Readonly<Record<string, unknown>>;

type Listed = {
  readonly trigger: string;
  readonly entry: Entry;
  /** True if it may be one in V2's own form */
  readonly isV2s: boolean;
};

function listHooks(hooks: unknown): readonly Listed[] {
  if (Array.isArray(hooks)) {
    return hooks.map((each: unknown) => {
      const { trigger, ...entry } = toRecord(each);
      if (typeof trigger !== "string") throw unusable();
      return { trigger, entry, isV2s: false };
    });
  }
  return Object.entries(toRecord(hooks)).flatMap(([trigger, entries]) =>
    [entries].flat().flatMap((each: unknown): readonly Listed[] => {
      const { hooks: inner, ...entry } = toRecord(each);
      if (inner === undefined) return [{ trigger, entry, isV2s: Object.keys(entry).every((key) => V2_KEYS.has(key)) }];
      return [inner].flat().map((one: unknown) => ({ trigger, entry: { ...entry, ...toRecord(one) }, isV2s: false }));
    }),
  );
}

const V2_KEYS: ReadonlySet<string> = new Set([
  "cache_ttl_seconds",
  "command",
  "matcher",
  "max_output_size",
  "timeout_ms",
]);

function toRecord(value: unknown): Entry {
  if (typeof value !== "object" || value === null) throw unusable();
  return value as Entry;
}

function toEntries({ matcher, timeout, ...entry }: Entry, command: string): readonly Entry[] {
  const own = Object.entries(entry).filter(([key]) => V2_KEYS.has(key));
  const rest = { ...(typeof timeout === "number" ? { timeout_ms: 1000 * timeout } : {}), ...Object.fromEntries(own) };
  return toMatchers(matcher).map((each) => ({ ...(each === undefined ? {} : { matcher: each }), ...rest, command }));
}

/** Returns true if V2 runs the hook where it should. A guard with another matcher would guard nothing. */
function isKnownTo(trigger: string, { matcher }: Entry): boolean {
  return trigger !== "preToolUse" || matcher === undefined || (typeof matcher === "string" && KNOWN.test(matcher));
}

// A guard with a matcher that V2 does not know would guard nothing; without one it guards every tool.
const ALL = [undefined];

const V2_NAMES: Readonly<Record<string, readonly string[]>> = {
  read: ["fs_read", "grep", "glob"],
  write: ["fs_write"],
  shell: ["execute_bash"],
};
const KNOWN = /^(?:\*|glob|grep|fs_read|fs_write|execute_bash|use_aws|@[\w-]+(?:\/[\w*-]+)?)$/;

/** Returns the matchers of V2 for one that may have several names of tools. */
function toMatchers(matcher: unknown): readonly (string | undefined)[] {
  if (typeof matcher !== "string") return ALL;
  const written = matcher.split("|");
  const names = listKiroTools(written, { partly: true }).flatMap((name) => V2_NAMES[name] ?? [name]);
  const areKnown = listKiroTools(written, { partly: false }).length > 0 && names.every((name) => KNOWN.test(name));
  return areKnown ? [...new Set(names)] : ALL;
}

function unusable(): Error {
  return new Error("a guard (preToolUse), or a hook that may be one, has no form that Kiro's V2 harness runs");
}
