import type { FolderKind, NameKind } from "./name-kind.ts";

/** The way in which the host runs a path. `hook` and `plain` need no explanation. */
export type Effect = keyof typeof SENTENCES | "hook" | "plain";

// In the order of the warnings.
const SENTENCES = {
  repository: "git uses the repository that it leads to, with the hooks and configuration of that repository",
  commondir: "git reads hooks and configuration from the folder that it names",
  worktree: "git reads configuration from it, besides its config",
  named: "git reads or runs it, because git's configuration names it",
  config: "git runs the commands that it names, some of them at every git status",
} as const;

/** The effects on git, the most dangerous first. */
export const GIT_EFFECTS: readonly Effect[] = ["repository", "commondir", "worktree", "named", "config", "hook"];

/** Finds the effect of a name in a folder. */
export function findEffect(name: string, meaning: NameKind, folder: FolderKind): Effect {
  if (meaning === "git") return "repository";
  if (meaning === "named") return "named";
  if (folder === "hooks" || meaning === "hooks") return "hook";
  if (meaning !== "watched" || !GIT_FOLDERS.has(folder)) return "plain";
  return GIT_NAMES.get(name.toLowerCase()) ?? "plain";
}

/** Explains an effect; `undefined` if it needs no explanation. */
export function explainEffect(effect: Effect): string | undefined {
  return effect === "hook" || effect === "plain" ? undefined : SENTENCES[effect];
}

const GIT_FOLDERS: ReadonlySet<FolderKind> = new Set(["git", "worktree", "bare"]);
const GIT_NAMES: ReadonlyMap<string, Effect> = new Map<string, Effect>([
  ["commondir", "commondir"],
  ["config", "config"],
  ["config.worktree", "worktree"],
]);
