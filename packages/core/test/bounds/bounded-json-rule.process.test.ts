import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { lint } from "../helpers/lint.ts";

const ROOT = new URL("../../../../", import.meta.url);

const PLANTED = {
  "parses.ts": "export const parsed: unknown = JSON.parse(text);",
  "passes-on.ts": "export const parsed = texts.map(JSON.parse);",
  "renames.ts": "export const { parse } = JSON;",
  "of-a-response.ts": "export const parsed: unknown = await response.json();",
  "of-a-stream.ts": 'import { json } from "node:stream/consumers";\nexport const parsed = await json(stream);',
  "of-the-sdk.ts":
    'import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";\nexport const x = StdioServerTransport;',
  "writes.ts": "export const text = JSON.stringify(value);",
  "bounded.ts":
    'import { parseBoundedJson } from "@budgie/core";\nexport const parsed: unknown = parseBoundedJson(text);',
};

describe("The lint rule", () => {
  it("refuses only JSON that is parsed before it is scanned", { timeout: 60_000 }, async () => {
    const refused = await lint("budgie-json(bounded)", PLANTED);

    expect(refused).toEqual([
      "of-a-response.ts",
      "of-a-stream.ts",
      "of-the-sdk.ts",
      "parses.ts",
      "passes-on.ts",
      "renames.ts",
    ]);
  });

  it("trusts no file that is not there", () => {
    const { rules } = JSON.parse(readFileSync(new URL(".oxlintrc.json", ROOT), "utf8")) as Settings;
    const files = rules["budgie-json/bounded"][1].trusted.flatMap((each) => each.files);

    expect(files.length).toBeGreaterThan(10);
    expect(files.filter((file) => file.startsWith("packages/") && !existsSync(new URL(file, ROOT)))).toEqual([]);
  });
});

type Settings = {
  readonly rules: {
    readonly "budgie-json/bounded": readonly [string, { readonly trusted: readonly { readonly files: string[] }[] }];
  };
};
