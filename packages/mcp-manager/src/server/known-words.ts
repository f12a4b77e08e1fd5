import { LIMITS } from "../bounds/limits.ts";
import { hashTools, type McpTool } from "./tools.ts";

// A server may list other names each time.
const MOST = 10 * LIMITS.tools;

/** Returns a function that takes each list of a server's tools, and returns the names of those that had other words when last listed. */
export function createKnownWords(): (tools: readonly McpTool[]) => readonly string[] {
  const known = new Map<string, string>();
  return (tools) => {
    const changed: string[] = [];
    for (const tool of tools) {
      const [before, words] = [known.get(tool.name), hashTools([tool])];
      if (before !== undefined && before !== words) changed.push(tool.name);
      if (before !== undefined || known.size < MOST) known.set(tool.name, words);
    }
    return changed;
  };
}
