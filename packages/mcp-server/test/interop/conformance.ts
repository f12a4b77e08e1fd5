import { readFileSync } from "node:fs";
import { TOKEN } from "../mcp/http/start-http-budgie.ts";
import { runProgram, toInteropPath } from "./clients.ts";

/** What is known to fail, and rightly so. */
export const BASELINE = toInteropPath("conformance-baseline.yml");

/** A version of the conformance suite, and the Node that it runs on. */
export type Suite = { readonly program: string; readonly node: string };

/** The last that runs on Node 20. */
export const SUITE: Suite = {
  program: toInteropPath("node_modules/@modelcontextprotocol/conformance/dist/index.js"),
  node: process.execPath,
};

/** A later one; it knows what each revision of MCP requires. */
export const NEXT_SUITE: Suite = {
  program: toInteropPath("node_modules/conformance-next/dist/index.js"),
  node: process.env["BUDGIE_NODE22"] ?? "",
};

/** How a suite ended, and the end of what it printed. */
export type Verdict = { readonly exitCode: number | null; readonly text: string };

/** Runs scenarios of a suite against a server; the suite itself has no option for a token. */
export async function runSuite({ node, program }: Suite, url: string, args: readonly string[]): Promise<Verdict> {
  const argv = ["--import", toInteropPath("with-token.mjs"), program, "server", "--url", url, ...args];
  const { exitCode, stderr, stdout } = await runProgram(argv, { env: { MCP_TOKEN: TOKEN }, node });
  // oxlint-disable-next-line no-control-regex
  const plain = `${stdout}${stderr}`.replace(/\u001B\[\d+m/g, "");
  const [, summary = plain] = /\n((?:Test Results:|Total: )[^]*)$/.exec(plain) ?? [];
  return { exitCode, text: summary };
}

/** The suite's scenarios for servers. */
export async function listScenarios({ node, program }: Suite): Promise<readonly string[]> {
  const { stdout } = await runProgram([program, "list"], { node });
  const [, server = ""] = /^Server scenarios.*\n((?: {2}- .*\n)+)/m.exec(stdout) ?? [];
  return parseList(server);
}

/** The scenarios of the baseline. */
export function readBaseline(): readonly string[] {
  return parseList(readFileSync(BASELINE, "utf8"));
}

function parseList(yaml: string): readonly string[] {
  return [...yaml.matchAll(/^ {2}- (\S+)/gm)].map(([, name = ""]) => name);
}
