/** A process to start in a Pod. It is the beginning of the input of a stream for a turn, in as many bytes as the opening says. */
export type ProcessOrder = {
  readonly argv: readonly [string, ...string[]];
  /** The variables that replace or extend those of the container */
  readonly env: Readonly<Record<string, string>>;
  /** Names of variables of the container that the process does not get; a `*` stands at the beginning or the end for any text. The first that matches decides, and a `!` before it keeps the variable */
  readonly unset: readonly string[];
  readonly directory: string;
  /** The ports of the Pod to which the process may connect, besides its ephemeral ones; `undefined` for no jail around its network */
  readonly ports: readonly number[] | undefined;
  /** True if it may change nothing in its directory, of which it sees a copy. Needs Landlock of Linux 6.2 or later */
  readonly isReadOnly: boolean;
  readonly limits: { readonly pids: number; readonly diskBytes: number };
};

/** The end of a turn, as the last value of its stream: `AgentEnd`, and whether the sidecar ended it. */
export type ProcessEnd = {
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly oomKills: number;
  /** True if the sidecar stopped it, since the home had outgrown its limit */
  readonly isDiskFull: boolean;
};
