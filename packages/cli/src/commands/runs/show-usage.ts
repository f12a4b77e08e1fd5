import { escapeForTerminal, joinFirst, parseDuration } from "@budgie/core/text";
import type { Host } from "@budgie/mcp-server";
import type { UsageQuery, UsageSum } from "@budgie/store";
import type { Config } from "../../config/config.ts";
import { formatTable } from "../../terminal/format-table.ts";
import { stringifySafely } from "../../terminal/stringify-safely.ts";
import { wrapText } from "../../terminal/wrap-text.ts";
import { addSums } from "./add-sums.ts";
import { formatAmount } from "./format-amount.ts";
import { withRunArchive } from "./with-run-archive.ts";

export type ShowUsageOptions = Pick<UsageQuery, "by"> & {
  /** A duration, as text */
  readonly since?: string;
  readonly json: boolean;
};

/** Runs `budgie usage`: prints what turns have cost, as far as their programs said. */
export async function showUsage(
  config: Pick<Config, "stateDir">,
  { by, json, since }: ShowUsageOptions,
  host: Host,
): Promise<number> {
  const sinceMs = since === undefined ? undefined : Date.now() - parseDuration(since, "--since");
  const sums = await withRunArchive(config, (archive) => archive.usage({ by, sinceMs }));
  host.stdout.write(json ? stringifySafely(sums.map((sum) => toFacts(by, sum))) : usageText(sums, by, host));
  return 0;
}

/** Returns a sum for JSON output, with its key under its own name. */
function toFacts(by: UsageQuery["by"], { key, ...sum }: UsageSum) {
  return { [by]: key, ...sum };
}

/** A column, and its cell for a sum; empty if no turn reported that. */
const FIGURES: readonly (readonly [head: string, cell: (sum: UsageSum) => string])[] = [
  ["CREDITS", ({ credits }) => formatKnown(credits)],
  [
    "COST",
    ({ costs }) =>
      Object.entries(costs)
        .map(([currency, cost]) => `${formatAmount(cost)} ${currency}`)
        .join(", "),
  ],
  ["INPUT", ({ inputTokens }) => formatKnown(inputTokens)],
  ["CACHED", ({ cachedTokens }) => formatKnown(cachedTokens)],
  ["OUTPUT", ({ outputTokens }) => formatKnown(outputTokens)],
];

function usageText(sums: readonly UsageSum[], by: UsageQuery["by"], host: Host): string {
  if (sums.length === 0) return "There is no such turn in the run log.\n";
  const shown = FIGURES.filter(([, cell]) => sums.some((sum) => cell(sum) !== ""));
  const head = [by.toUpperCase(), "TURNS", ...shown.map(([name]) => name)];
  const toRow = (name: string, sum: UsageSum) => [name, formatAmount(sum.turns), ...shown.map(([, cell]) => cell(sum))];
  const total = sums.length === 1 ? [] : [toRow("(total)", addSums(sums))];
  const table = formatTable([head, ...sums.map((sum) => toRow(formatKey(sum), sum)), ...total], host);
  const notes = listNotes(sums).map((note) => wrapText(note, { columns: host.columns, indent: 0 }));
  return `${[...table, ...(notes.length === 0 ? [] : ["", ...notes])].join("\n")}\n`;
}

function formatKey({ key }: UsageSum): string {
  return key === undefined ? "(unknown)" : escapeForTerminal(key);
}

function formatKnown(figure: number | undefined): string {
  return figure === undefined ? "" : formatAmount(figure);
}

/** Lists the turns whose cost is in no sum. */
function listNotes(sums: readonly UsageSum[]): readonly string[] {
  const reasons = [
    ["silent", "reported no cost, which is unknown and not zero"],
    ["apart", "reported tokens that cannot be added up, such as those of the last request alone"],
    ["open", "did not end, or not yet"],
  ] as const;
  return reasons.flatMap(([name, reason]) => {
    const found = sums.filter((sum) => sum[name] > 0).toSorted((a, b) => b[name] - a[name]);
    const count = found.reduce((total, sum) => total + sum[name], 0);
    if (count === 0) return [];
    const places = joinFirst(
      found.map((sum) => `${sum[name]} of ${shorten(formatKey(sum))}`),
      MOST_NAMED,
    );
    return [`${count === 1 ? "1 turn" : `${count} turns`} ${reason}: ${places}.`];
  });
}

const MOST_NAMED = 5;
const LONGEST_KEY = 40;

/** Returns the end of a long key, since a path's end is what tells it from others. */
function shorten(key: string): string {
  return key.length <= LONGEST_KEY ? key : `…${key.slice(1 - LONGEST_KEY)}`;
}
