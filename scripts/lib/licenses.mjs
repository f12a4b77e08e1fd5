import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const RULE = "=".repeat(80);

/** Returns the licences of the packages that these files come from, as the text to ship with copies of them. */
export function toLicenses(files) {
  const roots = new Set(files.flatMap((file) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file)?.[0] ?? []));
  const texts = new Map([...roots].map(toLicense));
  const sorted = [...texts].toSorted(([one], [other]) => (one < other ? -1 : 1));
  const head = "budgie-mcp contains parts of these packages. Their licences follow.\n";
  return [head, ...sorted.map(([, text]) => text)].join(`\n${RULE}\n`);
}

function toLicense(root) {
  const { author, license, name, version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const file = readdirSync(root).find((each) => /^(?:licen[cs]e|copying)/i.test(each));
  const title = `${name} ${version} (${license})`;
  const text = file === undefined ? toNotice(author) : readFileSync(join(root, file), "utf8").trim();
  return [title, `${title}\n\n${text}\n`];
}

function toNotice(author) {
  return `Copyright ${author?.name ?? author ?? "its authors"}. The package has no file with its licence.`;
}
