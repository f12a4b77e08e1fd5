import { median, percentile } from "./interleave.mjs";

/** Returns a table of times with each median as a multiple of its base's. `toBase` maps a case's title to its base's. */
export function toTable(times, heading, toBase) {
  const rows = [...times].map(([title, own]) => {
    const ratio = median(own) / median(times.get(toBase(title)));
    return `| ${title} | ${median(own).toFixed(0)} | ${percentile(own, 0.95).toFixed(0)} | ${ratio.toFixed(2)} |`;
  });
  return [`| turn | median ms | p95 ms | ${heading} |`, "|---|---|---|---|", ...rows].join("\n");
}

/** Returns the caption of a table: rounds, engine and Node. */
export function toCaption(rounds, { name, version }) {
  return `\n${rounds} rounds, interleaved; ${name} ${version}, Node ${process.versions.node}\n`;
}
