import { existsSync, realpathSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import type { Agent, Projection } from "@budgie/core";
import type { NamedFile } from "@budgie/core/agents";
import { isWithin } from "@budgie/core/policy";
import { sanitizeText, truncateText } from "@budgie/core/text";
import { expandGlob, fixedPart } from "./expand-glob.ts";
import { listAgentProjections } from "./build-kiro-command.ts";
import { isPrompt, mayHoldSecrets } from "./may-hold-secrets.ts";

/** The files of one agent in a sandbox. */
export type AgentFiles = {
  readonly projections: readonly Projection[];
  /** A sentence about the files that a sandbox does not show; empty if there are none */
  readonly warnings: readonly string[];
};

export type AgentFilesPlace = {
  /** The user's home */
  readonly home: string;
  /** The projections that every agent has */
  readonly shared: readonly Projection[];
};

/** The options for finding the files of a turn's agent. */
export type AgentFilesOptions = {
  /** Host files and folders that every agent may read */
  readonly projections: readonly Projection[];
  /** The user's home, if agents run in a sandbox */
  readonly sandboxHome?: string | undefined;
};

/** Finds the files of a turn's agent. Without a sandbox these are its own file and its prompt. */
export function findTurnFiles({ projections: shared, sandboxHome: home }: AgentFilesOptions, agent: Agent): AgentFiles {
  if (home !== undefined) return findAgentFiles(agent, { home, shared });
  return { projections: listAgentProjections(agent), warnings: [] };
}

type Owner = Pick<Agent, "file" | "name" | "named" | "shown">;

// Each file becomes two mounts.
const MOST_FILES = 64;
const LARGEST_BYTES = 2 ** 20;
const MOST_ENTRIES = 2_000;

/** Finds an agent's own files, and the files below the user's `~/.kiro` that it names, as they are now. */
export function findAgentFiles(agent: Owner, place: AgentFilesPlace): AgentFiles {
  const found = (agent.named ?? []).flatMap((named) => find(named, agent, place));
  const promptFile = found.find(({ isShownAnyway, of }) => of === "prompt" && isShownAnyway)?.path;
  const others = found.filter(({ isShownAnyway }) => !isShownAnyway);
  const paths = others.flatMap(({ path, why }) => (why === undefined ? [path] : []));
  const shown = new Set([...new Set(paths)].slice(0, MOST_FILES));
  const hidden = others.filter(({ path }) => !shown.has(path));
  return {
    projections: [
      ...listAgentProjections({ file: agent.file, promptFile, shown: agent.shown }),
      ...[...shown].map((source) => ({ source, home: relative(place.home, source) })),
    ],
    warnings: formatWarnings(
      agent.name,
      hidden.map(({ uri, why = `there are more than ${MOST_FILES}` }) => [uri, why]),
    ),
  };
}

type Found = NamedFile & {
  /** The reason for not showing it; `undefined` if it can be shown */
  readonly why: string | undefined;
  /** True if the agent can read it without a separate projection */
  readonly isShownAnyway: boolean;
};

function find(named: NamedFile, agent: Owner, place: AgentFilesPlace): readonly Found[] {
  const path = named.path.startsWith("~/") ? join(place.home, named.path.slice(2)) : named.path;
  return judgeAll({ ...named, path }, join(place.home, ".kiro")).map((judged) => {
    const one = { ...named, path: judged.file };
    // Another agents' folder than Kiro's holds the same files.
    const isAgents = named.of === "prompt" && isWithin(judged.file, dirname(agent.file)) && !isPrompt(judged.file);
    const why = isAgents ? SECRET : judged.why;
    const isRefused = named.of === "prompt" && why === SECRET;
    return { ...one, why, isShownAnyway: !isRefused && isShownAnyway(one, agent, place) };
  });
}

function isShownAnyway(named: NamedFile, { file, shown }: Owner, { home, shared }: AgentFilesPlace): boolean {
  const { of, path, uri } = named;
  const start = uri.slice(uri.indexOf("://") + 3);
  // A copy without the tokens of its servers may stand in its place, in the home alone.
  if (path === file) return shown === undefined || start.startsWith("~/");
  if (of === "prompt" && start.startsWith("/")) return true;
  const beside = { source: dirname(file), home: ".kiro/agents" };
  const folders = of === "prompt" ? [beside, ...shared] : shared;
  return folders.some((folder) => {
    // A sandbox also shows projections at their host paths, and relative prompts are resolved from the agent's file.
    const isFound = start.startsWith("/") || (folder === beside && !start.startsWith("~/"));
    return isWithin(path, folder.source) && (isFound || join(home, folder.home ?? "") === folder.source);
  });
}

type Judged = {
  readonly file: string;
  /** The reason for not showing it; `undefined` if it is shown */
  readonly why: string | undefined;
};

function judgeAll({ of, path, uri }: NamedFile, kiroDir: string): readonly Judged[] {
  if (!isWithin(path, kiroDir)) {
    // A file that the host lacks too is not missing from a sandbox. A path relative to the workspace cannot be looked up.
    const isMissing = of === "resources" && path.startsWith("/") && !existsSync(fixedPart(path));
    return isMissing ? [] : [{ file: path, why: "it is not below ~/.kiro" }];
  }
  if (of === "resources" && /[[{]/.test(uri))
    return [{ file: path, why: "budgie supports only the patterns *, ? and **" }];
  if (of === "prompt" || fixedPart(path) === path) return judge(path, kiroDir);
  return expandGlob(path, MOST_ENTRIES)
    .flatMap((file) => judge(file, kiroDir))
    .filter(({ why }) => why !== NO_FILE);
}

const NO_FILE = "it is not a file";
const SECRET = "it may hold secrets";

/** Judges a path below `~/.kiro`; empty if nothing is there. */
function judge(file: string, kiroDir: string): readonly Judged[] {
  try {
    const [real, realDir] = [realpathSync(file), realpathSync(kiroDir)];
    return [{ file, why: findReason(real, realDir, mayHoldSecrets(file, kiroDir)) }];
  } catch {
    return [];
  }
}

function findReason(real: string, kiroDir: string, isNamedSecret: boolean): string | undefined {
  const found = statSync(real);
  if (!isWithin(real, kiroDir)) return isNamedSecret && found.isFile() ? SECRET : "a symlink leads out of ~/.kiro";
  if (!found.isFile()) return NO_FILE;
  if (isNamedSecret || mayHoldSecrets(real, kiroDir)) return SECRET;
  return found.size > LARGEST_BYTES ? `it is larger than ${LARGEST_BYTES / 2 ** 20} MiB` : undefined;
}

// Keeps the result short, since a model reads it.
const MOST_NAMED = 5;
const LONGEST_BYTES = 200;

function formatWarnings(agent: string, hidden: readonly (readonly [uri: string, why: string])[]): readonly string[] {
  const reasons = new Map<string, string>();
  for (const [uri, why] of hidden) if (!reasons.has(uri)) reasons.set(uri, why);
  if (reasons.size === 0) return [];
  const named = [...reasons].slice(0, MOST_NAMED);
  const rest = reasons.size > MOST_NAMED ? ` and ${reasons.size - MOST_NAMED} more` : "";
  const list = named.map(([uri, why]) => `${JSON.stringify(formatLine(uri))} (${why})`).join(", ");
  return [
    `A sandbox does not show all that the agent ${JSON.stringify(agent)} names: ${list}${rest}. ` +
      `Keep it in a folder of its own below ~/.kiro, in the directory of the call, or in the sandbox's image.`,
  ];
}

function formatLine(text: string): string {
  return sanitizeText(truncateText(text, LONGEST_BYTES)).replaceAll(/\s/g, " ");
}
