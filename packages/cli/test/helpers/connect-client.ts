import type { Writable } from "node:stream";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { deserializeMessage, serializeMessage } from "@modelcontextprotocol/sdk/shared/stdio.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { ElicitRequestSchema, type CallToolResult, type ElicitResult } from "@modelcontextprotocol/sdk/types.js";
import type { Ended, Program } from "./run-here.ts";

/** A budgie that may run in this process, with a client of the official SDK. */
export type Served = {
  readonly client: Client;
  readonly stdin: Writable;
  readonly ended: Promise<Ended>;
  readonly stderr: () => string;
  /** Every line on stdout */
  readonly lines: readonly string[];
  /** Calls an agent's tool on the user's workspace */
  readonly ask: (
    agent: string,
    input: Readonly<Record<string, unknown>>,
    signal?: AbortSignal,
  ) => Promise<CallToolResult>;
};

type Connecting = {
  readonly workspace: string;
  readonly clientName: string;
  /** Answers forms; without it the client shows none */
  readonly answerForm?: (() => ElicitResult) | undefined;
};

/** Connects a client of the official SDK to the streams of a budgie. */
export async function connectClient(
  program: Program,
  { answerForm, clientName, workspace }: Connecting,
): Promise<Served> {
  const lines: string[] = [];
  const errors: Buffer[] = [];
  program.stderr.on("data", (piece: Buffer) => errors.push(piece));
  const stderr = (): string => Buffer.concat(errors).toString();
  const capabilities = answerForm === undefined ? {} : { elicitation: { form: {} } };
  const client = new Client({ name: clientName, version: "1.0.0" }, { capabilities });
  if (answerForm !== undefined) client.setRequestHandler(ElicitRequestSchema, answerForm);
  await client.connect(createTransport(program, lines)).catch((cause: unknown) => {
    throw new Error(`budgie did not start: ${stderr()}`, { cause });
  });
  return {
    client,
    stdin: program.stdin,
    ended: program.ended,
    stderr,
    lines,
    async ask(agent, input, signal) {
      const call = { name: `kiro-subagents.${agent}`, arguments: { directory: workspace, ...input } };
      // The SDK's default of 60 s is less than a test may take on a loaded machine.
      const options = { timeout: 300_000, ...(signal === undefined ? {} : { signal }) };
      return (await client.callTool(call, undefined, options)) as CallToolResult;
    },
  };
}

/** Keeps the exit code and the lines, which the SDK's own transport hides. */
function createTransport({ stdin, stdout }: Program, lines: string[]): Transport {
  const transport: Transport = {
    async start() {
      let rest = "";
      stdout.setEncoding("utf8").on("data", (piece: string) => {
        const parts = (rest + piece).split("\n");
        rest = parts.pop() ?? "";
        for (const line of parts) {
          lines.push(line);
          transport.onmessage?.(deserializeMessage(line));
        }
      });
      stdout.on("close", () => transport.onclose?.());
      stdin.on("error", () => undefined);
    },
    async send(message) {
      stdin.write(serializeMessage(message));
    },
    async close() {
      stdin.end();
    },
  };
  return transport;
}
