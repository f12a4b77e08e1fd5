import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { cutText } from "./cut-text.ts";
import { sanitizeText } from "./sanitize-text.ts";

/** A command that Kiro runs by itself while an agent works. */
export type AgentHook = {
  /** Such as `preToolUse`, which makes it a guard: it can keep the agent from using a tool */
  readonly trigger: string;
  readonly command: string;
};

// Only Kiro judges an agent file: what is no hook to budgie is left out.
const hooksSchema = z.record(z.string(), z.array(z.unknown()).catch([])).catch({});
const hookSchema = z.looseObject({ command: z.string() });

/** Lists the hooks of an agent file. */
export function toAgentHooks(hooks: unknown): readonly AgentHook[] {
  return Object.entries(hooksSchema.parse(hooks)).flatMap(([trigger, entries]) =>
    entries.flatMap((entry) => {
      const { data } = hookSchema.safeParse(entry);
      return data === undefined ? [] : [{ trigger, command: data.command }];
    }),
  );
}

// Enough to act on.
const MOST_HOOKS = 10;
const LONGEST_BYTES = 200;

/** Says which hooks a sandbox that is given this directory keeps from running, guards first. */
export async function findSilencedHooks(hooks: readonly AgentHook[], directory: string): Promise<readonly string[]> {
  const silenced: Silenced[] = [];
  for (const hook of hooks) {
    const hidden = toHidden(hook);
    if (hidden !== undefined && (await isThere(hidden, directory))) silenced.push(hidden);
  }
  const rest = silenced.length - MOST_HOOKS;
  return [
    ...guardsFirst(silenced).slice(0, MOST_HOOKS).map(toWarning),
    ...(rest > 0 ? [`${rest} more of the agent's hooks did not run either.`] : []),
  ];
}

/** Names the hooks that no sandbox runs where the repository has the folder that they are in, guards first. */
export function toHidableHooks(hooks: readonly AgentHook[]): readonly string[] {
  const hidable = hooks.filter((hook) => toHidden(hook) !== undefined);
  return guardsFirst(hidable).slice(0, MOST_HOOKS).map(toName);
}

function guardsFirst<Hook extends AgentHook>(hooks: readonly Hook[]): readonly Hook[] {
  return hooks.toSorted((a, b) => Number(isGuard(b)) - Number(isGuard(a)));
}

type Silenced = AgentHook & {
  /** A folder that a sandbox hides */
  readonly place: string;
  /** The user's and not the repository's */
  readonly isOfHome: boolean;
};

const HIDDEN = /(?<home>~\/|\$HOME\/|\$\{HOME\}\/)?(?<place>\.kiro\/(?:agents|hooks|settings))\//;

function toHidden(hook: AgentHook): Silenced | undefined {
  const { home, place } = HIDDEN.exec(hook.command)?.groups ?? {};
  return place === undefined ? undefined : { ...hook, place, isOfHome: home !== undefined };
}

/** A hook of a folder that a repository does not have runs nowhere, and no sandbox has that of the home. */
async function isThere({ isOfHome, place }: Silenced, directory: string): Promise<boolean> {
  if (isOfHome) return true;
  return lstat(join(directory, place)).then(
    () => true,
    () => false,
  );
}

function isGuard({ trigger }: AgentHook): boolean {
  return trigger.toLowerCase() === "pretooluse";
}

function toWarning(hook: Silenced): string {
  const where = hook.isOfHome ? `shows no "~/${hook.place}"` : `hides "${hook.place}" of the repository`;
  const so = isGuard(hook) ? ", and Kiro uses a tool whose guard it cannot find" : "";
  return `The ${toName(hook)} did not run: a sandbox ${where}${so}. Keep it elsewhere, such as in the sandbox's image.`;
}

function toName(hook: AgentHook): string {
  const [command, trigger] = [hook.command, hook.trigger].map(toLine);
  return `${isGuard(hook) ? "guard hook" : "hook"} ${JSON.stringify(command)} (${trigger})`;
}

function toLine(text: string): string {
  return sanitizeText(cutText(text, LONGEST_BYTES)).replaceAll(/\s/g, " ");
}
