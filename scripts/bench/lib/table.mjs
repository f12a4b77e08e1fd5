import { median, percentile } from "./interleave.mjs";

/** A table of times, each median also as a multiple of another case's: `toBase` names that by a case's title. */
export function toTable(times, heading, toBase) {
  const rows = [...times].map(([title, own]) => {
    const ratio = median(own) / median(times.get(toBase(title)));
    return `| ${title} | ${median(own).toFixed(0)} | ${percentile(own, 0.95).toFixed(0)} | ${ratio.toFixed(2)} |`;
  });
  return [`| turn | median ms | p95 ms | ${heading} |`, "|---|---|---|---|", ...rows].join("\n");
}

/** What the figures below it are of. */
export function toCaption(rounds, { name, version }) {
  return `\n${rounds} rounds, interleaved; ${name} ${version}, Node ${process.versions.node}\n`;
}
