import { constants } from "node:os";
import type { Reply } from "@budgie/core";
import type { RunLog } from "@budgie/core/runs";
import { EXIT, type Host } from "@budgie/mcp-server";
import { printReply } from "./print-reply.ts";

/** Prints the facts about a person's command that has ended. Resolves to its exit code, as a shell counts, or to that of budgie's failure. */
export async function printEnd(turn: Promise<Reply>, log: Pick<RunLog, "delivered">, host: Host): Promise<number> {
  const printed = await printReply(turn, log, host);
  if (printed !== EXIT.done) return printed;
  const { exitCode, signal } = (await turn).exit;
  return exitCode ?? 128 + (constants.signals[signal as NodeJS.Signals] ?? 0);
}
