import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { addFiles, createTree } from "../helpers/create-tree.ts";
import { listPaths, select } from "../helpers/select.ts";

// 2,000 trees, each a folder of one of these repositories, since a process for each would take minutes.
const REPOSITORIES = 8;
const TREES = 250;

it.each(Array.from({ length: REPOSITORIES }, (_, index) => index + 1))(
  "The files of generated trees are those that git lists, by index and patterns (%i)",
  async (seed) => {
    const random = createRandom(seed);
    const root = createTree({});
    const git = (args: readonly string[], input = ""): string =>
      execFileSync("git", ["-c", "core.fsync=none", ...args], {
        cwd: root,
        input,
        env: ENV,
        maxBuffer: 2 ** 28,
      }).toString();
    git(["init", "-q", ...(seed === 5 ? ["--object-format=sha256"] : [])]);
    for (let tree = 0; tree < TREES; tree++) addFiles(join(root, `t${tree}`), generateTree(random));
    mkdirSync(join(root, ".git/info"), { recursive: true });
    writeFileSync(join(root, ".git/info/exclude"), `${pick(random, NAMES)}\n!t1?/b.txt\n`);
    const all = git(["ls-files", "-oz"]).split("\0").slice(0, -1);
    const tracked = all.filter(() => random(5) === 0);
    git(["update-index", "--add", "-z", "--stdin"], tracked.map((path) => `${path}\0`).join(""));
    git(["update-index", "--index-version", seed % 2 === 0 ? "4" : "2"]);
    // An entry that is only intended has an extended flag, which needs version 3.
    if (seed === 3) git(["add", "-Nf", all.find((path) => !tracked.includes(path)) ?? "."]);

    const selected = listPaths(await select(root)).filter((path) => !path.endsWith("/"));

    const listed = new Set(git(["ls-files", "-coz", "--exclude-standard"]).split("\0").slice(0, -1));
    expect(listed.size).toBeGreaterThan(all.length / 10);
    expect(all.length - listed.size).toBeGreaterThan(all.length / 20);
    expect({
      missing: [...listed].filter((path) => !selected.includes(path)),
      added: selected.filter((path) => !listed.has(path)),
    }).toEqual({ missing: [], added: [] });
  },
);

const ENV = { PATH: process.env["PATH"], GIT_CONFIG_NOSYSTEM: "1", HOME: "/nonexistent" };

type Random = (below: number) => number;

/** Creates a small generator of numbers, the same for each seed. */
function createRandom(seed: number): Random {
  let state = seed * 0x9e3779b9;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const NAMES = ["a", "b", "ab", "abc", "A", "a.o", "b.txt", "[a]", "x y", "é", "!a", "#b", "-", "a\\b", "tail "];

function generateTree(random: Random): Record<string, string> {
  const files: Record<string, string> = { ".gitignore": generatePatterns(random) };
  for (let left = 3 + random(4); left > 0; left--) {
    const path = Array.from({ length: 1 + random(4) }, () => pick(random, NAMES)).join("/");
    const parents = path.split("/").map((_, index, names) => names.slice(0, index).join("/"));
    const isTaken = Object.keys(files).some(
      (file) => file === path || file.startsWith(`${path}/`) || parents.includes(file),
    );
    if (!isTaken) files[path] = "";
    if (random(4) === 0 && parents.at(-1) !== "" && !isTaken)
      files[`${parents.at(-1)}/.gitignore`] = generatePatterns(random);
  }
  return files;
}

const PIECES = [
  ...NAMES,
  ..."*|**|?|/|/|/**|**/|\\*|\\[a]|[ab]|[!a]|[^b]|[a-c]|[]a]|[[:alpha:]]|[[:upper:]x]|[a|[:alpha:]|\\|.|[a-|\\ |*.o|[--a]|[\\]]".split(
    "|",
  ),
];

function generatePatterns(random: Random): string {
  const lines = Array.from({ length: random(4) }, () => {
    const pattern = Array.from({ length: 1 + random(3) }, () => pick(random, random(2) === 0 ? NAMES : PIECES)).join(
      "",
    );
    return `${random(4) === 0 ? "!" : ""}${pattern}${random(5) === 0 ? "/" : ""}${random(8) === 0 ? "  " : ""}`;
  });
  return lines.join(random(6) === 0 ? "\r\n" : "\n") + (random(2) === 0 ? "\n" : "");
}

function pick<Item>(random: Random, items: readonly Item[]): Item {
  return items[random(items.length)] as Item;
}
