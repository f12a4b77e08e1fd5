import { readFileSync } from "node:fs";
import { BudgieError } from "@budgie/core";
import { PLAIN_NAME } from "@budgie/core/agents";
import { sanitizeText } from "@budgie/core/text";
import type { Config } from "../../config/config.ts";
import type { Host } from "@budgie/mcp-server";
import { stringifySafely } from "../../terminal/stringify-safely.ts";
import { logFile } from "./with-manager.ts";

type Options = { readonly name: string; readonly json: boolean };

/** Runs `budgie mcp logs`: prints the last lines that a server wrote. */
export function showServerLog(config: Config, { json, name }: Options, { stdout }: Host): number {
  const text = readLog(name, config);
  stdout.write(json ? stringifySafely(text.split("\n").slice(0, -1)) : sanitizeText(text));
  return 0;
}

function readLog(name: string, config: Config): string {
  const error = new BudgieError(
    "INPUT_INVALID",
    `There is no log of an MCP server "${name}". "budgie doctor" and "budgie mcp ls", "tools" and "call" write it.`,
  );
  // The name becomes part of a path.
  if (!PLAIN_NAME.test(name)) throw error;
  try {
    return readFileSync(logFile(name, config), "utf8");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") throw error;
    throw cause;
  }
}
