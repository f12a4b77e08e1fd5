/** The state of a server. */
export type ServerState = "not-launched" | "initializing" | "ready" | "error" | "needs-auth";

/** One server, as a result lists it. */
export type ServerStatus = {
  readonly name: string;
  readonly state: ServerState;
  /** The number of tools that may be called */
  readonly tools: number;
  readonly calls: number;
  /** The calls that failed, including those with `isError` */
  readonly failed: number;
  /** The reason for the state `error`; `undefined` otherwise */
  readonly error: string | undefined;
  /** True if its tools differ from the approved ones; left out otherwise */
  readonly toolsChanged?: true;
};

/** A change that callers may show. */
export type ServerEvent = { readonly server: string } & (
  | { readonly kind: "initializing" }
  | { readonly kind: "needs-auth" }
  | { readonly kind: "ready"; readonly tools: number; readonly problems: readonly string[] }
  | { readonly kind: "error"; readonly error: string }
  /** The server ended by itself, and is restarted once */
  | { readonly kind: "restarting"; readonly error: string }
  | { readonly kind: "list-changed"; readonly list: "prompts" | "resources" | "tools" }
  /** Tools whose definitions have changed since they were last listed; empty if the tools differ from the approved ones */
  | { readonly kind: "tools-changed"; readonly tools: readonly string[] }
);

/** Returns the text of an event, such as "github: 3 tools". */
export function formatEvent(event: ServerEvent): string {
  return `${event.server}: ${TEXTS[event.kind](event as never)}`;
}

const TEXTS: {
  readonly [Kind in ServerEvent["kind"]]: (event: Extract<ServerEvent, { readonly kind: Kind }>) => string;
} = {
  initializing: () => "starting",
  "needs-auth": ({ server }) => `wants a login: budgie mcp login ${server}`,
  ready: ({ tools }) => (tools === 1 ? "1 tool" : `${tools} tools`),
  error: ({ error }) => error,
  restarting: ({ error }) => `${error}; starting it again`,
  "list-changed": ({ list }) => `its ${list} changed`,
  "tools-changed": ({ tools }) =>
    tools.length === 0
      ? "its tools differ from the approved ones"
      : `its definitions of ${tools.join(", ")} have changed`,
};
