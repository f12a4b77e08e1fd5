import { readFileSync } from "node:fs";
import { TOKEN } from "../../../mcp-server/test/mcp/http/start-http-budgie.ts";
import { runProgram, toInteropPath } from "./clients.ts";

/** The known failures, which are justified. */
export const BASELINE = toInteropPath("conformance-baseline.yml");

/** A version of the conformance suite, and its Node. */
export type Suite = { readonly program: string; readonly node: string };

/** The last version that runs on Node 20. */
export const SUITE: Suite = {
  program: toInteropPath("node_modules/@modelcontextprotocol/conformance/dist/index.js"),
  node: process.execPath,
};

/** A later version, which knows the requirements of each revision of MCP. */
export const NEXT_SUITE: Suite = {
  program: toInteropPath("node_modules/conformance-next/dist/index.js"),
  node: process.env["BUDGIE_NODE22"] ?? "",
};

/** The exit of a suite, and the end of its output. */
export type Verdict = { readonly exitCode: number | null; readonly text: string };

/** Runs a suite's scenarios against a server, with a token, for which the suite has no option. */
export async function runSuite({ node, program }: Suite, url: string, args: readonly string[]): Promise<Verdict> {
  const argv = ["--import", toInteropPath("with-token.mjs"), program, "server", "--url", url, ...args];
  const { exitCode, stderr, stdout } = await runProgram(argv, { env: { MCP_TOKEN: TOKEN }, node });
  // oxlint-disable-next-line no-control-regex
  const plain = `${stdout}${stderr}`.replace(/\u001B\[\d+m/g, "");
  const [, summary = plain] = /\n((?:Test Results:|Total: )[^]*)$/.exec(plain) ?? [];
  return { exitCode, text: summary };
}

/** Lists the suite's scenarios for servers. */
export async function listScenarios({ node, program }: Suite): Promise<readonly string[]> {
  const { stdout } = await runProgram([program, "list"], { node });
  const [, server = ""] = /^Server scenarios.*\n((?: {2}- .*\n)+)/m.exec(stdout) ?? [];
  return parseList(server);
}

/** Reads the scenarios of the baseline. */
export function readBaseline(): readonly string[] {
  return parseList(readFileSync(BASELINE, "utf8"));
}

function parseList(yaml: string): readonly string[] {
  return [...yaml.matchAll(/^ {2}- (\S+)/gm)].map(([, name = ""]) => name);
}
