import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { expect, it } from "vitest";
import { STEPS } from "@budgie/core/turn";
import { makePage } from "../../../scripts/bench/report/write-page.mjs";
import { PACKAGES } from "./helpers/read-sources.ts";

const ROOT = dirname(PACKAGES);
const DOCS = join(ROOT, "docs");
const PAGES = readdirSync(DOCS)
  .filter((name) => name.endsWith(".md"))
  .map((name) => join(DOCS, name));
const README = join(ROOT, "README.md");

it("the README has at most 130 lines", () => {
  expect(readFileSync(README, "utf8").trimEnd().split("\n").length).toBeLessThanOrEqual(130);
});

it("docs/architecture.md lists the steps of a turn, in their order", () => {
  const page = readFileSync(join(DOCS, "architecture.md"), "utf8");

  expect([...page.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name)).toEqual(Object.keys(STEPS));
});

it("docs/performance.md and its picture are what the bench makes of its results", async () => {
  const made = await makePage();

  expect(Object.keys(made)).toEqual(["performance.md", "performance.svg"]);
  for (const [name, text] of Object.entries(made)) expect(readFileSync(join(DOCS, name), "utf8")).toBe(text);
});

it("the recording of the demo is small, and names nobody's folders", () => {
  const picture = readFileSync(join(DOCS, "demo.svg"), "utf8");

  expect(picture.length).toBeLessThan(60_000);
  expect(picture).toContain("All checks passed.");
  expect(picture.match(/\/(?:tmp|var\/tmp|root|Users)\/|\/home\/(?!me\b|agent\b)/)).toBeNull();
});

const OF_ROOT = ["README.md", "AGENTS.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md"];

it.each([...OF_ROOT.map((name) => join(ROOT, name)), ...PAGES].map((page) => [relative(ROOT, page), page]))(
  "the links of %s lead to existing files and headings",
  (_name, page) => {
    expect(findBrokenLinks(readFileSync(page, "utf8"), page)).toEqual([]);
  },
);

it.each([
  ["[a file](none.md)", ["none.md"]],
  ["[a heading](README.md#none)", ["README.md#none"]],
  ["[a heading](#none)", ["#none"]],
  ["[a heading](README.md#to-set-up)", []],
  ["[another host](https://example.com/none)", []],
])("of the link %s the broken ones are %j", (text, broken) => {
  expect(findBrokenLinks(text, join(DOCS, "README.md"))).toEqual(broken);
});

function findBrokenLinks(text: string, page: string): readonly string[] {
  const links = [...text.replaceAll(/```[^]*?```/g, "").matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = ""]) => link);
  return links.filter((link) => !/^\w+:/.test(link) && !isThere(link, page));
}

function isThere(link: string, page: string): boolean {
  const [path = "", heading] = link.split("#");
  const file = path === "" ? page : join(dirname(page), path);
  return existsSync(file) && (heading === undefined || toAnchors(readFileSync(file, "utf8")).includes(heading));
}

/** Lists the anchors that a forge gives to headings. */
function toAnchors(text: string): readonly string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}
