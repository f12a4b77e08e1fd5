import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findProseFaults } from "./helpers/find-prose-faults.ts";
import { PACKAGES, readSources } from "./helpers/read-sources.ts";

it("the docstrings of all packages begin with a verb or a noun", () => {
  expect(readdirSync(PACKAGES).flatMap(listFaults)).toEqual([]);
});

describe("a docstring", () => {
  it.each([
    "What a caller gets.",
    "Who asks.",
    "Whoever waits for it sees it fail.",
    "Whether the process runs.",
    "How many files there are.",
    "That of a budgie which no agent started.",
    "Of the runner's options those that select the engine.",
    "Where sessions are kept.",
    "Those that are left.",
    "If set, no process starts.",
    "When the turn began.",
    "what a caller gets.",
  ])("is wrong if it begins like %j", (text) => {
    expect(findProseFaults(`/** ${text} */\nexport const x = 1;\n`)).toEqual([`1: ${text}`]);
    expect(findProseFaults(`const y = 0;\n\n  /**\n   * ${text}\n   * It goes on.\n   */\n`)).toEqual([
      `3: ${text} It goes on.`.slice(0, "3: ".length + 60),
    ]);
  });

  it.each([
    "Returns what a caller gets.",
    "The number of files.",
    "Official names only.",
    "Whenceforth is no question.",
    "That offer stands.",
    "`undefined` if there is none",
  ])("is right if it begins like %j", (text) => {
    expect(findProseFaults(`/** ${text} */`)).toEqual([]);
  });

  it("is neither another comment nor a pattern in a string", () => {
    expect(findProseFaults(`// What it is.\n/* What it is. */\nconst glob = "src/** What/*.ts"; /*/\n`)).toEqual([]);
  });

  it("is found anywhere in a file, with its line", () => {
    const source = `/** Opens it. */\nopen();\n/** Where it is. */\nconst a = 1;\n  /** How it ends */\n`;

    expect(findProseFaults(source)).toEqual(["3: Where it is.", "5: How it ends"]);
  });
});

function listFaults(name: string): readonly string[] {
  return [...readSources(join(PACKAGES, name, "src"))].flatMap(([file, text]) =>
    findProseFaults(text).map((fault) => `${name}/src/${file}:${fault}`),
  );
}
