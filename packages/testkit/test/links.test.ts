import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const LINK = /\]\((?!https?:|#|mailto:)([^)#\s]+)(?:#[^)]*)?\)/g;

describe("the documents", () => {
  it("link to files that exist", () => {
    const documents = execFileSync("find", [".", "-name", "*.md", "-not", "-path", "*/node_modules/*"], { cwd: root });

    const broken = documents
      .toString()
      .trim()
      .split("\n")
      .flatMap((document) => linksOf(document).filter((target) => !existsSync(join(root, dirname(document), target))));

    expect(broken).toEqual([]);
  });
});

function linksOf(document: string): readonly string[] {
  return [...readFileSync(join(root, document), "utf8").matchAll(LINK)].map((match) => match[1] ?? "");
}
