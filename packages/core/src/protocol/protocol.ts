import type { Agent } from "../agents/agent.ts";
import type { Usage } from "../runs/run-log.ts";
import type { Exit, RunnerSession } from "../runner/runner.ts";

/** How budgie talks to an agent program: one prompt in, one answer out. */
export type Protocol = (turn: ProtocolTurn) => Promise<ProtocolAnswer>;

/** One prompt to an agent in a session. */
export type ProtocolTurn = {
  readonly agent: Agent;
  readonly session: RunnerSession;
  readonly directory: string;
  readonly prompt: string;
  /** Whether the session may hold a conversation to go on with */
  readonly resume: boolean;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
};

/** What came of it. */
export type ProtocolAnswer = {
  readonly response: string;
  /** The file in the session's home that holds the whole answer; `undefined` if it came another way */
  readonly file: string | undefined;
  readonly exit: Exit;
  /** Tools that the agent wanted and was not allowed */
  readonly denied: readonly string[];
  /** Left out if the program did not say */
  readonly usage?: Usage | undefined;
  /** What the caller should know about the answer, one sentence each */
  readonly warnings: readonly string[];
};
