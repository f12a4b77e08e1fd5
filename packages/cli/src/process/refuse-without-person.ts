import { createInterface } from "node:readline";
import { BudgieError } from "@budgie/core";
import type { Host } from "@budgie/mcp-server";

/** Throws `INPUT_INVALID` without a terminal, so that no agent, script or client can answer. `what` begins the message. */
export function refuseWithoutPerson(host: Host, what: string): void {
  if (hasPerson(host)) return;
  throw new BudgieError("INPUT_INVALID", `${what}: run this command at a terminal, without pipes.`);
}

/** Returns true if a person at a terminal can answer. */
export function hasPerson({ columns, stdinIsTerminal }: Pick<Host, "columns" | "stdinIsTerminal">): boolean {
  return stdinIsTerminal && columns !== undefined;
}

/** Resolves to true if the person answers yes. */
export async function isYes(host: Pick<Host, "stdin">): Promise<boolean> {
  return /^\s*y(?:es)?\s*$/i.test(await readLine(host));
}

/** Reads a line of a person; empty if they end the input. */
async function readLine({ stdin }: Pick<Host, "stdin">): Promise<string> {
  const lines = createInterface({ input: stdin });
  try {
    for await (const line of lines) return line;
    return "";
  } finally {
    lines.close();
  }
}
