import type { RunnerSession } from "@budgie/core";
import { parseBoundedJson } from "@budgie/core/bounds";
import { toFields, parseText } from "../http/fields.ts";

const FILE = ".budgie-a2a.jsonl";
const LONGEST_ID = 1000;

/** The ids of a session on its agent's server. */
export type Context = {
  /** The conversation */
  readonly context: string;
  /** The task that waits for the next prompt */
  readonly task?: string | undefined;
};

/** Loads a session's context; `undefined` if the server has named none. */
export async function loadContext(session: RunnerSession): Promise<Context | undefined> {
  const text = (await session.readFile(FILE)) ?? "";
  const line = toFields(parseLine(text.trimEnd().split("\n").at(-1) ?? ""));
  const context = parseText(line["context"], LONGEST_ID);
  return context === undefined ? undefined : { context, task: parseText(line["task"], LONGEST_ID) };
}

function parseLine(line: string): unknown {
  try {
    return parseBoundedJson(line);
  } catch {
    return undefined;
  }
}

/** Appends a session's context to its file, whose last line counts. */
export async function saveContext(session: RunnerSession, context: Context): Promise<void> {
  await session.appendFile(FILE, `${JSON.stringify(context)}\n`);
}
