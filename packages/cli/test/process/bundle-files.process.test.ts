import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const bundle = fileURLToPath(new URL("../../dist/bundle/", import.meta.url));

it("no command loads an MCP client before it needs one", () => {
  const loaded = listLoaded(readdirSync(bundle).filter((name) => name.startsWith("commands-")));

  const withClient = loaded.filter((name) => readFile(name).includes("StreamableHTTPClientTransport"));
  expect({ withClient, isRead: loaded.length > 5 }).toEqual({ withClient: [], isRead: true });
});

/** Lists files of the bundle with all that they load at once. */
function listLoaded(names: readonly string[], known: readonly string[] = []): readonly string[] {
  const found = names.filter((name) => !known.includes(name));
  if (found.length === 0) return known;
  // Behind an arrow, a file is loaded later.
  const required = found.flatMap((name) => [...readFile(name).matchAll(/(?<!=> )require\("\.\/([^"]+)"\)/g)]);
  return listLoaded([...new Set(required.map(([, name = ""]) => name))], [...known, ...found]);
}

function readFile(name: string): string {
  return readFileSync(`${bundle}${name}`, "utf8");
}
