import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { findExitFailure } from "../../../core/src/protocol/find-exit-failure.ts";
import { toErrorResult } from "../../../mcp-server/src/mcp/calls/to-reply-result.ts";
import { replyOutput } from "../../../mcp-server/src/mcp/tools/tool-output.ts";
import { stickyAgentInput } from "../../../mcp-server/src/mcp/tools/parse-tool-input.ts";
import { buildConfigFileSchema } from "../../src/config/build-config-file-schema.ts";
import { parseCommandLine } from "./parse-command-line.ts";

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));
const PAGES = [
  "README.md",
  ...readdirSync(join(ROOT, "docs")).flatMap((name) => (name.endsWith(".md") ? [`docs/${name}`] : [])),
];
// A glossary has sentences only.
const WITHOUT = ["docs/context.md"];

type Block = { readonly language: string; readonly text: string };

describe.each(PAGES)("the examples of %s", (page) => {
  const blocks = listBlocks(readFileSync(join(ROOT, page), "utf8"));

  it.skipIf(WITHOUT.includes(page))("are there", () => {
    expect(blocks).not.toEqual([]);
  });

  it("have commands and options that exist", async () => {
    const lines = blocks.filter(({ language }) => ["", "sh"].includes(language)).flatMap(listCommandLines);

    expect(await findWrong(lines, checkCommandLine)).toEqual([]);
  });

  it("have JSON that budgie or its clients accept", async () => {
    const texts = blocks.flatMap(({ language, text }) => (language === "json" ? [text] : []));

    expect(await findWrong(texts, checkJson)).toEqual([]);
  });
});

it("The error of docs/errors.md is what a caller gets", () => {
  const [block] = listBlocks(readFileSync(join(ROOT, "docs/errors.md"), "utf8"));
  const shown = JSON.parse(block?.text ?? "") as { readonly structuredContent: { readonly sessionId: string } };
  const context = { agent: "code-reviewer", program: "kiro-cli", timeoutMs: 600_000 };
  const error = findExitFailure({ reason: "timeout" }, context);

  const { sessionId } = shown.structuredContent;
  const { content: _, ...result } = toErrorResult(Object.assign(error ?? {}, { report: { sessionId } }));

  expect(result).toEqual(shown);
});

it.each([
  ["budgie runs ls --nowhere", "unknown option '--nowhere'"],
  ["budgie nothing", "too many arguments"],
  ["npm run nothing", "no such script"],
])("The example %j is found wrong", async (line, fault) => {
  expect(await findWrong([line], checkCommandLine)).toEqual([expect.stringContaining(fault)]);
});

it.each([
  ['{ "sandbx": true }', "sandbx"],
  ['{ "agents": { "reader": { "timeout": true } } }', "timeout"],
  ['{ "name": "kiro-subagents.reader", "arguments": { "prompt": "Go" } }', "directory"],
  ['{ "structuredContent": { "warnings": "none" } }', "warnings"],
])("The example %j is found wrong", async (text, fault) => {
  expect(await findWrong([text], checkJson)).toEqual([expect.stringContaining(fault)]);
});

function listBlocks(page: string): readonly Block[] {
  return [...page.matchAll(/^```(\w*)\n([^]*?)^```$/gm)].map(([, language = "", text = ""]) => ({ language, text }));
}

/** Lists the commands of a block, or those after a prompt of one that also has output, without what a shell does with them. */
function listCommandLines({ language, text }: Block): readonly string[] {
  return text
    .replaceAll("\\\n", " ")
    .split("\n")
    .flatMap((line) => (language === "" ? (/^\$ (.*)/.exec(line)?.slice(1) ?? []) : [line]))
    .map((line) => line.replace(/(?:^| +)#.*$/, ""))
    .flatMap((line) => line.match(/(?:'[^']*'|"[^"]*"|[^;&|'"])+/g) ?? [])
    .map((line) =>
      line
        .trim()
        .replace(/^(?:[A-Z_]+=\S* )+/, "")
        .replace(/ [<>].*$/, ""),
    )
    .filter((line) => /^(?:budgie|npx budgie-mcp|npm run)\b/.test(line));
}

async function findWrong(all: readonly string[], check: (text: string) => unknown): Promise<readonly string[]> {
  const faults = await Promise.all(
    all.map(async (text) => {
      try {
        await check(text);
        return [];
      } catch (error) {
        return [`${text}: ${(error as Error).message}`];
      }
    }),
  );
  return faults.flat();
}

const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { readonly scripts: object };

async function checkCommandLine(line: string): Promise<void> {
  const [, script] = /^npm run ([\w:-]+)/.exec(line) ?? [];
  if (script !== undefined && !(script in scripts)) throw new Error("no such script");
  if (script !== undefined) return;
  await parseCommandLine(line.replace(/^(?:budgie|npx budgie-mcp) ?/, ""));
}

/** Checks a call of a tool, its result, or else budgie's configuration; agents' files and clients' configurations only as JSON. */
function checkJson(text: string): void {
  const value = JSON.parse(text) as Readonly<Record<string, unknown>>;
  if ("mcpServers" in value || "allowedTools" in value) return;
  if ("arguments" in value) return void stickyAgentInput.parse(value["arguments"]);
  if ("structuredContent" in value) return void replyOutput.partial().parse(value["structuredContent"]);
  buildConfigFileSchema().parse(value);
}
