/** The most that one JSON text of another party may contain. */
export type JsonBounds = {
  /** Strings, brackets and commas: at least half as many as it has values and keys */
  readonly values: number;
  /** Levels of lists and objects */
  readonly depth: number;
};

/** The bounds on what an agent, a server or a repository says (ADR 28). */
export const JSON_BOUNDS: JsonBounds = { values: 50_000, depth: 500 };

/** The bounds on the user's own files, such as a registry of thousands of servers. */
export const FILE_BOUNDS: JsonBounds = { values: 2_000_000, depth: 500 };

/** The bounds on a request to budgie, which the MCP SDK's schemas check several times. */
export const REQUEST_BOUNDS: JsonBounds = { values: 10_000, depth: 500 };

/** The bound on a request that begins a session: its schemas note an error for each wrong value. */
export const INITIALIZE_BOUNDS: JsonBounds = { values: 1000, depth: 500 };
