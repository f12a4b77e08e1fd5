import { fileURLToPath } from "node:url";
import type { MockOptions } from "./mock-options.ts";

const PROGRAM = fileURLToPath(new URL("../../dist/bundle/mcp/mock-stdio.cjs", import.meta.url));

/** Returns the entry of a mock server that speaks on stdin and stdout. It needs a build. */
export function toMockCommand(options: MockOptions = {}): { command: string; args: string[] } {
  return { command: process.execPath, args: [PROGRAM, JSON.stringify(options)] };
}
