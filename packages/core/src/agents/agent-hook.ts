import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { truncateText } from "../text/truncate-text.ts";
import { sanitizeText } from "../text/sanitize-text.ts";

/** A command that Kiro runs by itself while an agent works. */
export type AgentHook = {
  /** The event, such as `preToolUse`, whose hooks are guards: they can keep the agent from using a tool */
  readonly trigger: string;
  readonly command: string;
};

// Only Kiro validates an agent file: budgie skips entries that it does not understand.
const text = z.string().optional().catch(undefined);
const hookSchema = z
  .looseObject({
    trigger: text,
    command: text,
    action: z.looseObject({ command: text }).optional().catch(undefined),
    enabled: z.unknown().optional(),
  })
  .transform(({ action, command, enabled, trigger }) => ({
    trigger,
    command: enabled === false ? undefined : (command ?? action?.command),
  }));

/** Lists the enabled hooks of an agent file, which has a list of them by trigger, or since Kiro 2.37 one list that names triggers. */
export function listHooks(hooks: unknown): readonly AgentHook[] {
  if (Array.isArray(hooks)) return hooks.flatMap((entry) => toHooks(entry));
  return Object.entries(Object(hooks) as Readonly<Record<string, unknown>>).flatMap(([trigger, entries]) =>
    Array.isArray(entries) ? entries.flatMap((entry) => toHooks(entry, trigger)) : [],
  );
}

function toHooks(entry: unknown, listedAs?: string): readonly AgentHook[] {
  const { hooks: inner } = Object(entry) as { readonly hooks?: unknown };
  // Claude Code's form, of one more level.
  if (Array.isArray(inner)) return inner.flatMap((each) => toHooks(each, listedAs));
  const { command, trigger: named } = hookSchema.safeParse(entry).data ?? {};
  const trigger = listedAs ?? named;
  return command === undefined || trigger === undefined ? [] : [{ trigger, command }];
}

// Keeps the result short, since a model reads it.
const MOST_HOOKS = 10;
const LONGEST_BYTES = 200;

/** Returns a warning for each hook that a sandbox with this workspace hides, guards first. */
export async function findSilencedHooks(hooks: readonly AgentHook[], directory: string): Promise<readonly string[]> {
  const silenced: Silenced[] = [];
  for (const hook of hooks) {
    const hidden = findHidden(hook);
    if (hidden !== undefined && (await isThere(hidden, directory))) silenced.push(hidden);
  }
  const rest = silenced.length - MOST_HOOKS;
  return [
    ...guardsFirst(silenced).slice(0, MOST_HOOKS).map(formatWarning),
    ...(rest > 0 ? [`${rest} more of the agent's hooks did not run either.`] : []),
  ];
}

/** Names the hooks that a sandbox may hide, depending on the repository's content; guards first. */
export function listHideableHooks(hooks: readonly AgentHook[]): readonly string[] {
  const hidable = hooks.filter((hook) => findHidden(hook) !== undefined);
  return guardsFirst(hidable).slice(0, MOST_HOOKS).map(formatName);
}

function guardsFirst<Hook extends AgentHook>(hooks: readonly Hook[]): readonly Hook[] {
  return hooks.toSorted((a, b) => Number(isGuardHook(b)) - Number(isGuardHook(a)));
}

type Silenced = AgentHook & {
  /** A folder that a sandbox hides */
  readonly place: string;
  /** True if the folder is in the user's home, not in the repository */
  readonly isOfHome: boolean;
};

const HIDDEN = /(?<home>~\/|\$HOME\/|\$\{HOME\}\/)?\.kiro\/+(?<name>agents|hooks|settings|workflows)(?![\w.-])/;

function findHidden(hook: AgentHook): Silenced | undefined {
  const { home, name } = HIDDEN.exec(hook.command)?.groups ?? {};
  return name === undefined ? undefined : { ...hook, place: `.kiro/${name}`, isOfHome: home !== undefined };
}

/** Returns true if the script may exist on the host. Scripts in the user's home are not checked. */
async function isThere({ isOfHome, place }: Silenced, directory: string): Promise<boolean> {
  if (isOfHome) return true;
  return lstat(join(directory, place)).then(
    () => true,
    () => false,
  );
}

/** Returns true for a hook that can keep an agent from using a tool, however its trigger is spelled. */
export function isGuardHook({ trigger }: Pick<AgentHook, "trigger">): boolean {
  return toTriggerKey(trigger) === "pretooluse";
}

/** Returns a trigger in lower case, without blanks, dashes and underscores. */
export function toTriggerKey(trigger: string): string {
  return trigger.toLowerCase().replaceAll(/[\s_-]/g, "");
}

function formatWarning(hook: Silenced): string {
  const where = hook.isOfHome ? `shows no "~/${hook.place}"` : `hides "${hook.place}" of the repository`;
  const so = isGuardHook(hook) ? "; Kiro allows a tool whose guard it cannot find" : "";
  return `The ${formatName(hook)} did not run, since a sandbox ${where}${so}. Keep it elsewhere, such as in the sandbox's image.`;
}

function formatName(hook: AgentHook): string {
  const [command, trigger] = [hook.command, hook.trigger].map(formatLine);
  return `${isGuardHook(hook) ? "guard hook" : "hook"} ${JSON.stringify(command)} (${trigger})`;
}

function formatLine(text: string): string {
  return sanitizeText(truncateText(text, LONGEST_BYTES)).replaceAll(/\s/g, " ");
}
