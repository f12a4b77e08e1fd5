/** An agent that another machine, or another program, serves over A2A. */
export type A2aServer = {
  /** The address of its JSON-RPC calls; its card is below it, or at the root of its host */
  readonly url: string;
  /** Sent with every request; their values may be secrets */
  readonly headers: Readonly<Record<string, string>>;
  /** True if the client must name a new conversation; by default the server does */
  readonly namesContext?: boolean | undefined;
};
