import { LIMITS } from "../bounds/limits.ts";
import { hashTools, type McpTool } from "./list-tools.ts";

// A server may list new names each time.
const MOST = 10 * LIMITS.tools;

/** Returns a function to call with each list of a server's tools. It returns the names of those whose definitions have changed. */
export function createToolTracker(): (tools: readonly McpTool[]) => readonly string[] {
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
