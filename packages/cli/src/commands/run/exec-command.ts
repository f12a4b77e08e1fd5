import { StringDecoder } from "node:string_decoder";
import type { Readable, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import type { Command } from "@budgie/core";
import { findExitFailure, type Protocol } from "@budgie/core/protocol";
import { sanitizeText } from "@budgie/core/text";
import type { Host } from "@budgie/mcp-server";
import { createBuildCommand, type BuildCommand } from "@budgie/mcp-server/commands";
import type { Config } from "../../config/config.ts";
import { callAgent, type CallOptions } from "./call-agent.ts";
import { printEnd } from "./print-end.ts";

export type ExecOptions = CallOptions & {
  readonly argv: Command["argv"];
  /** Passes the text on stdin to the command */
  readonly interactive: boolean;
};

/** Runs `budgie exec`: a person's command in an agent's sandbox. Resolves to the command's exit code. */
export async function execCommand(config: Config, options: ExecOptions, host: Host): Promise<number> {
  const { argv, interactive } = options;
  return callAgent(
    config,
    {
      ...options,
      client: "budgie exec",
      readPrompt: async () => argv.join(" "),
      createProtocol: (checked) =>
        createExecProtocol({ argv, interactive, host, build: createBuildCommand(checked, host) }),
      print: (turn, log) => printEnd(turn, log, host),
    },
    host,
  );
}

type Exec = Pick<ExecOptions, "argv" | "interactive"> & { readonly build: BuildCommand; readonly host: Host };

/** Creates the protocol that runs a command to its end and passes its output on. It has no time limit: a person waits for it. */
function createExecProtocol({ argv, build, host, interactive }: Exec): Protocol {
  return async (turn) => {
    const { agent, directory, events, session, signal, timeoutMs } = turn;
    const input = interactive ? await text(host.stdin) : "";
    const child = await session.start(build(turn, argv), { directory, input, signal });
    const [exit] = await Promise.all([
      child.exit,
      pass(child.stdout, host.stdout, {
        isTerminal: host.columns !== undefined,
        tell: (chunk) => events.emit("output", chunk, "stdout"),
      }),
      pass(child.stderr, host.stderr, {
        isTerminal: host.stderrColumns !== undefined,
        tell: (chunk) => events.emit("output", chunk, "stderr"),
      }),
    ]);
    const failure = findExitFailure(exit, { agent: agent.name, program: argv[0], timeoutMs });
    if (failure !== undefined) throw failure;
    return { response: "", file: undefined, exit, denied: [], warnings: [] };
  };
}

type Passing = { readonly isTerminal: boolean; readonly tell: (chunk: Buffer) => void };

/** Passes output on as it arrives, as it is; to a terminal, without what that would obey. */
async function pass(output: Readable, to: Pick<Writable, "write">, { isTerminal, tell }: Passing): Promise<void> {
  const decoder = new StringDecoder();
  for await (const chunk of output as AsyncIterable<Buffer>) {
    tell(chunk);
    const shown = isTerminal ? sanitizeText(decoder.write(chunk)) : chunk;
    // A reader that has gone takes nothing more, and the command need not wait for it.
    await new Promise<void>((resolve) => to.write(shown, () => resolve()));
  }
}
