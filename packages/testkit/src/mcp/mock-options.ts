/** The offers of a mock server of MCP, and its misbehaviour. It is JSON, so that a process can be given it. */
export type MockOptions = {
  readonly name?: string;
  readonly instructions?: string;
  readonly tools?: readonly MockTool[];
  /** The number of tools on a page of the list; all by default */
  readonly pageSize?: number;
  /** A list of tools that never ends */
  readonly endlessPages?: boolean;
  /** Offers a prompt and a resource too */
  readonly documents?: boolean;
  /** The method at which it ends, or after which it never answers */
  readonly crashAt?: string;
  readonly silentAt?: string;
  /** It crashes only if the file is not there yet, and makes it first */
  readonly crashOnceFile?: string;
  /** A line that it writes in place of messages at its start; stdio only */
  readonly says?: string;
  /** It goes on when its stdin closes, and at SIGTERM; stdio only */
  readonly ignoresEnd?: boolean;
  /** Starts a process that does the same; stdio only */
  readonly hasChild?: boolean;
  /** A file to which each start adds a line with the ids of its processes; stdio only */
  readonly pidFile?: string;
  /** Lines for stderr at the start; stdio only */
  readonly complains?: readonly string[];
};

/** A tool of a mock server, and its deed; it answers with its arguments by default. */
export type MockTool = {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema?: unknown;
  readonly does?: MockDeed;
};

export type MockDeed =
  /** Answers after a time, unless it is cancelled before */
  | { readonly kind: "wait"; readonly ms: number }
  | { readonly kind: "crash" | "fail" | "refuse" }
  /** Sends that many messages before the answer */
  | { readonly kind: "progress" | "log"; readonly count: number; readonly text?: string }
  /** Answers with a text of that many characters */
  | { readonly kind: "large"; readonly length: number }
  /** Answers with the values of variables */
  | { readonly kind: "env"; readonly names: readonly string[] }
  /** Offers other tools from now on, and says so that many times */
  | { readonly kind: "change"; readonly tools: readonly MockTool[]; readonly count?: number }
  /** Asks the client for what it may not have, and answers with the codes of its errors */
  | { readonly kind: "ask" }
  /** Sends a result as it is */
  | { readonly kind: "result"; readonly result: Readonly<Record<string, unknown>> };

/** The place where a mock server runs. */
export type MockHost = {
  /** Ends the server without a word. */
  readonly crash: () => void;
  readonly env: Readonly<Record<string, string | undefined>>;
};
