/** The features and faults of a mock MCP server. They are JSON, so that a process can take them as an argument. */
export type MockOptions = {
  readonly name?: string;
  readonly instructions?: string;
  readonly tools?: readonly MockTool[];
  /** The number of tools on a page of the list; all by default */
  readonly pageSize?: number;
  /** Serves a list of tools that never ends */
  readonly endlessPages?: boolean;
  /** Offers a prompt and a resource too */
  readonly documents?: boolean;
  /** The method at which it ends */
  readonly crashAt?: string;
  /** The method that it never answers */
  readonly silentAt?: string;
  /** Crashes only if this file does not exist yet, and creates it first */
  readonly crashOnceFile?: string;
  /** Text that it prints to stdout before any message; stdio only */
  readonly says?: string;
  /** Ignores the end of its stdin, and SIGTERM; stdio only */
  readonly ignoresEnd?: boolean;
  /** Starts a child process that ignores SIGTERM; stdio only */
  readonly hasChild?: boolean;
  /** A file to which each start adds a line with the ids of its processes; stdio only */
  readonly pidFile?: string;
  /** Lines that it prints to stderr at its start; stdio only */
  readonly complains?: readonly string[];
};

/** A tool of a mock server. It does what `does` says, and answers with its arguments by default. */
export type MockTool = {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema?: unknown;
  readonly does?: MockAction;
};

export type MockAction =
  /** Answers after `ms`, unless it is cancelled before */
  | { readonly kind: "wait"; readonly ms: number }
  | { readonly kind: "crash" | "fail" | "refuse" }
  /** Sends `count` messages before the answer */
  | { readonly kind: "progress" | "log"; readonly count: number; readonly text?: string }
  /** Answers with a text of `length` characters */
  | { readonly kind: "large"; readonly length: number }
  /** Answers with the values of these environment variables */
  | { readonly kind: "env"; readonly names: readonly string[] }
  /** Offers other tools from now on, and sends `tools/list_changed` `count` times */
  | { readonly kind: "change"; readonly tools: readonly MockTool[]; readonly count?: number }
  /** Sends the client requests that it must refuse, and answers with the codes of its errors */
  | { readonly kind: "ask" }
  /** Answers with this result as it is */
  | { readonly kind: "result"; readonly result: Readonly<Record<string, unknown>> };

/** The place where a mock server runs. */
export type MockHost = {
  /** Ends the server without a word. */
  readonly crash: () => void;
  readonly env: Readonly<Record<string, string | undefined>>;
};
