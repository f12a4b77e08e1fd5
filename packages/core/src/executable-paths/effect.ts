import type { FolderKind, NameKind } from "./executable-names.ts";

/** How a thing that the host runs comes to be run, as far as there is more to say than its name does. */
export type Effect = keyof typeof SENTENCES | "hook" | "plain";

// The order in which they are told of.
const SENTENCES = {
  repository: "git takes the repository that it leads to, with that one's hooks and configuration",
  commondir: "git takes its hooks and configuration from the folder that it names",
  worktree: "git takes configuration from it, besides its config",
  named: "git's configuration names it, so git reads or runs it",
  config: "git runs the commands that it names, some of them at every git status",
} as const;

/** All that concern git, the most surprising first. */
export const GIT_EFFECTS: readonly Effect[] = ["repository", "commondir", "worktree", "named", "config", "hook"];

/** The effect of a name in a folder. */
export function toEffect(name: string, meaning: NameKind, folder: FolderKind): Effect {
  if (meaning === "git") return "repository";
  if (meaning === "named") return "named";
  if (folder === "hooks" || meaning === "hooks") return "hook";
  if (meaning !== "watched" || !GIT_FOLDERS.has(folder)) return "plain";
  return GIT_NAMES.get(name.toLowerCase()) ?? "plain";
}

/** The effect in words; `undefined` if its name says it. */
export function toEffectText(effect: Effect): string | undefined {
  return effect === "hook" || effect === "plain" ? undefined : SENTENCES[effect];
}

const GIT_FOLDERS: ReadonlySet<FolderKind> = new Set(["git", "worktree", "bare"]);
const GIT_NAMES: ReadonlyMap<string, Effect> = new Map<string, Effect>([
  ["commondir", "commondir"],
  ["config", "config"],
  ["config.worktree", "worktree"],
]);
