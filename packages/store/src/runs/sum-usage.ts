import { withoutFloatError, type TokenFigures } from "@budgie/core/runs";
import type { Database, Row } from "../database/sqlite.ts";

/** The facts by which costs can be added up. */
export const USAGE_KEYS = ["agent", "day", "model", "project", "client"] as const;

export type UsageQuery = {
  readonly by: (typeof USAGE_KEYS)[number];
  /** Turns that began at this time or later; default all */
  readonly sinceMs?: number | undefined;
};

/** The cost of some turns. A figure that no turn reported is left out: it is unknown, not zero. */
export type UsageSum = TokenFigures & {
  /** The agent, the local day, the model, the directory or the client; `undefined` if unknown */
  readonly key: string | undefined;
  readonly turns: number;
  /** The turns that reported neither credits nor tokens nor cost */
  readonly silent: number;
  /** The turns whose tokens are in no sum, since they are those of a last request, or of an unknown basis */
  readonly apart: number;
  /** The turns that have not ended, or whose budgie ended before them */
  readonly open: number;
  readonly credits?: number;
  /** The costs by currency, which are never added to each other */
  readonly costs: Readonly<Record<string, number>>;
};

/** Adds up the costs of turns in the log, in the order of their keys. */
export function sumUsage(database: Database, { by, sinceMs = 0 }: UsageQuery): readonly UsageSum[] {
  if (by === "day") return sumDays(database, sinceMs);
  const groups = new Map<string | undefined, Row[]>();
  for (const row of database.all(querySums(by), sinceMs)) {
    const key = row["key"] === null ? undefined : String(row["key"]);
    groups.set(key, [...(groups.get(key) ?? []), row]);
  }
  return [...groups].map(([key, group]) => toSum(key, group));
}

/** Returns the query for the sums by a fact other than the day. The index has the turns in the order of their groups: sorting costs more than adding. */
export function querySums(by: Exclude<UsageQuery["by"], "day">): string {
  const groups = `SELECT ${GROUP}, ${FIGURES} FROM runs INDEXED BY runs_groups WHERE started >= ? GROUP BY ${GROUP}`;
  return `SELECT ${COLUMNS[by]} AS key, currency, ${SUMS} FROM (${groups}) GROUP BY 1, 2 ORDER BY 1, 2`;
}

const COLUMNS = { agent: "agent", model: "model", project: "directory", client: "client" } as const;

// The first columns of the index `runs_groups`, in its order
const GROUP = "agent, directory, client, model, currency, basis";

/** Adds up each local day that has a turn. SQLite's own local time costs more than all sums together. */
function sumDays(database: Database, sinceMs: number): readonly UsageSum[] {
  const sums: UsageSum[] = [];
  for (let endMs = Number.MAX_SAFE_INTEGER; ;) {
    const [last] = database.all(
      "SELECT max(started) AS ms FROM runs WHERE started >= ? AND started < ?",
      sinceMs,
      endMs,
    );
    if (typeof last?.["ms"] !== "number") return sums.toReversed();
    const day = new Date(Number(last["ms"]));
    const startMs = day.setHours(0, 0, 0, 0);
    const rows = database.all(DAY, Math.max(startMs, sinceMs), endMs);
    sums.push(toSum(formatDay(day), rows));
    endMs = startMs;
  }
}

function formatDay(day: Date): string {
  return [day.getFullYear(), day.getMonth() + 1, day.getDate()].map((part) => String(part).padStart(2, "0")).join("-");
}

const TOKENS = {
  inputTokens: "input_tokens",
  cachedTokens: "cached_tokens",
  outputTokens: "output_tokens",
  thoughtTokens: "thought_tokens",
  totalTokens: "total_tokens",
} as const satisfies Record<keyof TokenFigures, string>;

const TOKEN_COLUMNS = Object.values(TOKENS);

// The figures of turns with the same basis. The indexes `runs_usage` and `runs_groups` have all columns that are read here: rows are long.
const FIGURES = [
  "count(*) AS turns",
  "count(ended) AS ended",
  `count(coalesce(credits, cost, ${TOKEN_COLUMNS.join(", ")})) AS known`,
  `count(coalesce(${TOKEN_COLUMNS.join(", ")})) AS counted`,
  "sum(credits) AS credits",
  "sum(cost) AS cost",
  // As floating-point numbers: a sum of integers may be too large for SQLite, or for its reader.
  ...TOKEN_COLUMNS.map((name) => `sum(${name} * 1.0) AS ${name}`),
].join(", ");

// The sums of such figures
const SUMS = [
  "sum(turns) AS turns",
  "sum(ended - known) AS silent",
  "sum(CASE WHEN basis IS NULL THEN counted WHEN basis = 'request' THEN turns END) AS apart",
  "sum(turns - ended) AS open",
  "sum(credits) AS credits",
  "sum(cost) AS cost",
  ...TOKEN_COLUMNS.map((name) => `sum(iif(basis IN ('turn', 'thread'), ${name}, NULL)) AS ${name}`),
].join(", ");

const DAY = `SELECT currency, ${SUMS} FROM (SELECT currency, basis, ${FIGURES} FROM runs INDEXED BY runs_usage
  WHERE started >= ? AND started < ? GROUP BY 1, 2) GROUP BY 1 ORDER BY 1`;

/** Adds up the rows of a key, of which there is one for each currency. */
function toSum(key: string | undefined, rows: readonly Row[]): UsageSum {
  const add = (name: string): number | undefined => {
    const known = rows.flatMap((row) => (row[name] === null ? [] : [Number(row[name])]));
    return known.length === 0 ? undefined : withoutFloatError(known.reduce((sum, value) => sum + value, 0));
  };
  const count = (name: string): number => add(name) ?? 0;
  const figures = Object.entries({ ...TOKENS, credits: "credits" }).map(
    ([name, column]) => [name, add(column)] as const,
  );
  const costs = rows.flatMap(({ cost, currency }) =>
    typeof currency !== "string" ? [] : [[currency, withoutFloatError(Number(cost))]],
  );
  return {
    key,
    turns: count("turns"),
    silent: count("silent"),
    apart: count("apart"),
    open: count("open"),
    ...(Object.fromEntries(figures.filter(([, value]) => value !== undefined)) as TokenFigures),
    costs: Object.fromEntries(costs) as UsageSum["costs"],
  };
}
