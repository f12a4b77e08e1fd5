/** The uses of tools in a turn. */
export type ToolUses = { readonly add: (call: { readonly toolCallId?: unknown; readonly kind?: unknown }) => void };

// A use is told by several updates. An agent may invent any number of ids.
const MOST_IDS = 10_000;
const LONGEST_ID = 200;

// ACP's own, since an agent may invent others.
const KINDS: ReadonlySet<unknown> = new Set([
  "read",
  "edit",
  "delete",
  "move",
  "search",
  "execute",
  "think",
  "fetch",
  "switch_mode",
]);

/** Creates the uses of a turn. Calls `onTool` with the kind of each use, `other` if it has none that ACP knows. */
export function createToolUses(onTool: (kind: string) => void): ToolUses {
  const ids = new Set<string>();
  return {
    add({ kind, toolCallId }) {
      const id = typeof toolCallId === "string" ? toolCallId.slice(0, LONGEST_ID) : "";
      if (ids.has(id) || ids.size >= MOST_IDS) return;
      ids.add(id);
      onTool(KINDS.has(kind) ? String(kind) : "other");
    },
  };
}
