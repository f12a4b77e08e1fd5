import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DEPTH_FILE, DEPTH_VARIABLES, OUTERMOST, type Depth } from "@budgie/core";

const PLACES = { proc: "/proc", mark: DEPTH_FILE };

/**
 * Finds this budgie's depth: from the sandbox's file, from its own environment and, since that may have
 * been cleared, from the environments of its ancestors and of the leaders of their process groups and sessions.
 * The outermost budgie's limit binds: `wanted` can only be less.
 */
export function findNesting(env: NodeJS.ProcessEnv, wanted: number | undefined, places = PLACES): Depth {
  const own = Object.entries(env).map(([name, value = ""]) => `${name}=${value}`);
  const marks = [own, read(places.mark).split("\n"), ...readRelatives(places.proc)].flatMap(toMark);
  const limits = marks.map(({ most }) => most);
  return {
    own: Math.max(OUTERMOST.own, ...marks.map(({ own }) => own)),
    most: Math.min(wanted ?? (marks.length === 0 ? OUTERMOST.most : Infinity), ...limits),
  };
}

type Environment = readonly string[];

// More than anybody meant: behind so many somebody hides a mark, and counts as too deep.
const MOST_RELATIVES = 1000;
const HIDDEN: Environment = [`${DEPTH_VARIABLES.own}=`];

/** Those that are gone, or another user's, have nothing to say. */
function readRelatives(proc: string): readonly Environment[] {
  const found = new Set(toLeaders(proc, "self"));
  // A set goes on with what is added to it meanwhile.
  for (const pid of found) {
    if (found.size > MOST_RELATIVES) return [HIDDEN];
    for (const leader of toLeaders(proc, pid)) found.add(leader);
  }
  return [...found].map((pid) => read(join(proc, pid, "environ")).split("\0"));
}

/** Who is above a process: its parent, and who leads its group and its session, which it keeps when its parent has ended. */
function toLeaders(proc: string, pid: string): readonly string[] {
  const stat = read(join(proc, pid, "stat"));
  // The name may hold spaces and parentheses, so the fields count from the last one.
  const [, ...leaders] = stat.slice(stat.lastIndexOf(")") + 2).split(" ", 4);
  return leaders.filter((leader) => /^[1-9]\d*$/.test(leader));
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** What a process was told of its depth; none if it was told nothing. */
function toMark(environment: Environment): readonly Depth[] {
  const depths = toValues(environment, DEPTH_VARIABLES.own);
  if (depths.length === 0) return [];
  const limits = toValues(environment, DEPTH_VARIABLES.most);
  return [
    {
      // Whoever spoils the mark shall not get out by it.
      own: Math.max(...depths.map((text) => parseNumber(text) ?? Infinity)),
      most: Math.min(...limits.map((text) => parseNumber(text) ?? 0), ...(limits.length === 0 ? [OUTERMOST.most] : [])),
    },
  ];
}

function toValues(environment: Environment, name: string): readonly string[] {
  return environment.filter((line) => line.startsWith(`${name}=`)).map((line) => line.slice(name.length + 1));
}

function parseNumber(text: string): number | undefined {
  return /^\d{1,4}$/.test(text) ? Number(text) : undefined;
}
