import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { isSessionId } from "@budgie/core";

/** The session ids that a client was told, and by which answers. */
export type ToldIds = {
  /** Notes that the client is about to be sent a result; `prove` is called once if a later call shows that it arrived. */
  readonly tell: (result: CallToolResult, prove: () => void) => void;
  /** Notes that a call names a session. If only one result told its id, then that result arrived. */
  readonly name: (sessionId: unknown) => void;
};

// Beyond them, nothing is proved: a forgotten id that is told again would look new.
const MOST_TOLD = 1_000;

/** Creates an empty record of the sessions of one client. */
export function createToldSessions(): ToldIds {
  // `undefined`: the client named it, or several results told it
  const told = new Map<string, (() => void) | undefined>();

  function note(sessionId: string, prove: (() => void) | undefined): void {
    if (told.has(sessionId) || told.size < MOST_TOLD) told.set(sessionId, prove);
  }

  return {
    tell(result, prove) {
      for (const sessionId of listSessionIds(result)) note(sessionId, told.has(sessionId) ? undefined : prove);
    },
    name(sessionId) {
      if (typeof sessionId !== "string" || !isSessionId(sessionId)) return;
      told.get(sessionId)?.();
      note(sessionId, undefined);
    },
  };
}

/** Returns the ids in a result of a turn, or of several. */
function listSessionIds({ structuredContent = {} }: CallToolResult): readonly string[] {
  const { results = [], runs = [] } = structuredContent;
  const facts = [structuredContent, ...([runs, results].flat() as readonly Record<string, unknown>[])];
  return facts.flatMap(({ sessionId }) => (typeof sessionId === "string" ? [sessionId] : []));
}
