import { readFile, writeFile } from "node:fs/promises";
import { toChart } from "./to-chart.mjs";
import { toPage } from "./to-page.mjs";

export const RESULTS = new URL("../results.json", import.meta.url);
const DOCS = new URL("../../../docs/", import.meta.url);

/** Writes the page and the picture of the results. */
export async function writePage() {
  for (const [name, text] of Object.entries(await makePage())) await writeFile(new URL(name, DOCS), text);
}

/** Returns the files below `docs` that are generated from the results, by name. */
export async function makePage() {
  const results = JSON.parse(await readFile(RESULTS, "utf8"));
  return { "performance.md": toPage(results), "performance.svg": toChart(results) };
}
