import { text } from "node:stream/consumers";
import { parseAmounts } from "@budgie/core/budget";
import type { Host } from "@budgie/mcp-server";
import type { Config } from "../../config/config.ts";
import { createLiveLine } from "../../terminal/live-line.ts";
import { isLively } from "../../terminal/style.ts";
import { callAgent, type CallOptions } from "./call-agent.ts";
import { createLiveStatus } from "./live-status.ts";
import { printJson, printReply } from "./print-reply.ts";

export type RunAgentOptions = CallOptions & {
  /** `-` for the text on stdin */
  readonly prompt: string;
  readonly json: boolean;
  /** The most that the call may use, as amounts such as `2 credits`; default what is configured */
  readonly budget?: string | undefined;
};

/** Runs `budgie run`: one turn, with its answer on stdout and everything else on stderr. Resolves to the exit code. */
export async function runAgent(config: Config, options: RunAgentOptions, host: Host): Promise<number> {
  const line = createLiveLine(host.stderr, options.json ? undefined : findLiveColumns(host));
  const quiet: Host = {
    ...host,
    report(words) {
      line.clear();
      host.report(words);
    },
  };
  const { budget, ...call } = options;
  const most = budget === undefined ? undefined : parseAmounts(budget, "--budget", "CONFIG_INVALID");
  const { clear, events } = createLiveStatus(line);
  const print = options.json ? printJson : printReply;
  return callAgent(
    config,
    {
      ...call,
      budget: most,
      client: "budgie run",
      readPrompt: async () => (options.prompt === "-" ? text(host.stdin) : options.prompt),
      events,
      print: (turn, log) => print(turn.finally(clear), log, quiet),
    },
    quiet,
  );
}

/** Returns the width of a terminal on stderr that shows lines that change. */
function findLiveColumns({ env, stderrColumns: columns }: Host): number | undefined {
  return isLively({ env, columns }) ? columns : undefined;
}
