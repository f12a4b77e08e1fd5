import { percentile } from "./interleave.mjs";

/**
 * Returns a row for each case: the median and the middle half of its times, and of their ratios to those of its base in the same
 * rounds. `toBase` maps a case's title to its base's.
 */
export function toRows(times, toBase = () => undefined, unit = "ms") {
  return [...times].map(([title, own]) => {
    const base = times.get(toBase(title));
    const ratio = base && { to: toBase(title), ...toSpread(own.map((time, round) => time / base[round])) };
    return { title, unit, ...toSpread(own), ...(ratio && { ratio }) };
  });
}

/** Returns a row of one figure that was measured once. */
export function toFigure(title, value, unit) {
  return { title, unit, median: toRounded(value) };
}

function toSpread(values) {
  const [low, middle, high] = [0.25, 0.5, 0.75].map((share) => toRounded(percentile(values, share)));
  return { median: middle, low, high };
}

/** Returns three significant digits. */
function toRounded(value) {
  return Number(value.toPrecision(3));
}

/** Returns the rows as a table for a terminal and for Markdown. */
export function toTable(rows) {
  const lines = rows.map(({ ratio, title, unit, ...own }) => {
    const times = ratio === undefined ? "" : `${toText(ratio)} x ${ratio.to}`;
    return `| ${title} | ${toText(own)} ${unit} | ${times} |`;
  });
  return ["| | median (middle half) | ratio |", "|---|---|---|", ...lines].join("\n");
}

function toText({ high, low, median: middle }) {
  return low === undefined ? `${middle}` : `${middle} (${low} to ${high})`;
}

/** Returns a sentence for each ratio over its limit. `limits` maps the title of a row to its limit. */
export function findOver(rows, limits) {
  return rows
    .filter(({ ratio, title }) => ratio !== undefined && ratio.median > (limits[title] ?? Infinity))
    .map(({ ratio, title }) => `${title}: ${ratio.median} x ${ratio.to}, and ${limits[title]} is the limit`);
}
