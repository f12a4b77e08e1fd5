import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { CLAIMS } from "@budgie/claims";

const checkout = fileURLToPath(new URL("../../..", import.meta.url));
const rows = readRows();

describe("the table of untrusted input", () => {
  it("has a place, a limit and a test in each row", () => {
    expect(rows.length).toBeGreaterThan(50);
    for (const row of rows) {
      expect(row, row.join(" | ")).toHaveLength(4);
      expect(toNames(row[3] ?? "").length, row[0]).toBeGreaterThan(0);
    }
  });

  it("names existing functions", () => {
    const missing = rows.map(([place = ""]) => place).filter((place) => !hasFunction(place));

    expect(missing).toEqual([]);
  });

  it("names existing tests, claims and faults", () => {
    const missing = rows.flatMap(([, , , tests = ""]) => toNames(tests).filter((name) => !isShown(name)));

    expect(missing).toEqual([]);
  });
});

function readRows(): readonly (readonly string[])[] {
  return readFileSync(join(checkout, "docs/untrusted-input.md"), "utf8")
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .map((line) =>
      line
        .slice(1, -1)
        .split(" | ")
        .map((cell) => cell.trim()),
    );
}

type Name = { readonly kind: string; readonly name: string };

/** Returns the names in a cell: tests by their file and the beginning of their title, claims and faults by the word before them. */
function toNames(cell: string): readonly Name[] {
  return [...cell.matchAll(/(claim |fault |)`([^`]+)`/g)].map(([, kind = "", name = ""]) => ({
    kind: kind.trim(),
    name,
  }));
}

function hasFunction(place: string): boolean {
  const [file, called] = toNames(place).map(({ name }) => name);
  const text = readCode("src", file ?? "");
  return called !== undefined && text !== undefined && new RegExp(`\\b${called}\\b`).test(text);
}

function isShown({ kind, name }: Name): boolean {
  if (kind === "claim") return CLAIMS.some(({ id }) => id === name);
  if (kind === "fault") return readFaults().includes(`"${name}"`);
  const [file = "", title = ""] = name.split("#", 2);
  const text = readCode("test", file) ?? readCode("src", file);
  // Exactly one title has this beginning.
  const beginning = new RegExp(`["\`]${title.replaceAll("-", "[^\\p{L}\\p{N}]+")}`, "gu");
  return title !== "" && text?.match(beginning)?.length === 1;
}

/** Reads a file of the package with which its name begins. */
function readCode(folder: "src" | "test", name: string): string | undefined {
  const at = name.indexOf("/");
  const path = join(checkout, "packages", name.slice(0, at), folder, name.slice(at + 1));
  return existsSync(path) ? readFileSync(path, "utf8") : undefined;
}

function readFaults(): string {
  const folder = join(checkout, "packages/cli/test/faults");
  return readdirSync(folder)
    .filter((name) => name.endsWith(".ts"))
    .map((name) => readFileSync(join(folder, name), "utf8"))
    .join("\n");
}
