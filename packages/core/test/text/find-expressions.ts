import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseAst } from "rolldown/parseAst";

/** A regular expression in the sources. */
export type Expression = { readonly file: string; readonly source: string; readonly flags: string };

const PACKAGES = fileURLToPath(new URL("../../../", import.meta.url));

/** Finds every regular expression in the shipped sources. */
export function findExpressions(): readonly Expression[] {
  const files = readdirSync(PACKAGES, { recursive: true, encoding: "utf8" }).filter((file) =>
    /^(?!testkit\/)[^/]+\/(?:src|bin)\/.*\.[jt]s$/.test(file),
  );
  return files.toSorted().flatMap((file) => {
    const code = readFileSync(join(PACKAGES, file), "utf8").replace(/^#!/, "//");
    const found = findLiterals(parseAst(code, { lang: "ts", sourceType: "module" }));
    return found.map(({ flags, pattern }) => ({ file, source: pattern, flags }));
  });
}

type Literal = { readonly pattern: string; readonly flags: string };

function findLiterals(node: unknown): readonly Literal[] {
  if (node === null || typeof node !== "object") return [];
  if ("regex" in node && isLiteral(node.regex)) return [node.regex];
  return Object.values(node).flatMap(findLiterals);
}

function isLiteral(value: unknown): value is Literal {
  return value !== null && typeof value === "object" && "pattern" in value && "flags" in value;
}
