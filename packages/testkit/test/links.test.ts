import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const LINK = /\]\((?!https?:|#|mailto:)([^)#\s]+)(?:#[^)]*)?\)/g;

describe("the documents", () => {
  it("link to files that exist", () => {
    const documents = findDocuments("");

    const broken = documents.flatMap((document) =>
      linksOf(document).filter((target) => !existsSync(join(root, dirname(document), target))),
    );

    expect(documents).toContain("docs/security.md");
    expect(broken).toEqual([]);
  });
});

function findDocuments(folder: string): readonly string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === "node_modules" ? [] : findDocuments(path);
    return entry.name.endsWith(".md") ? [path] : [];
  });
}

function linksOf(document: string): readonly string[] {
  return [...readFileSync(join(root, document), "utf8").matchAll(LINK)].map((match) => match[1] ?? "");
}
