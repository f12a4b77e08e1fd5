import type { Agent } from "../agents/agent.ts";
import type { AgentProcess, Exit, RunnerSession, StartOptions } from "../runner/runner.ts";
import type { TurnEvents } from "./turn-events.ts";

/** A way to talk to an agent program: one prompt in, one answer out. */
export type Protocol = (turn: ProtocolTurn) => Promise<ProtocolAnswer>;

/** A prompt to an agent in a session. */
export type ProtocolTurn = Pick<StartOptions, "directory"> & {
  readonly agent: Agent;
  readonly session: RunnerSession;
  readonly prompt: string;
  /** True if the session may have a conversation to resume */
  readonly resume: boolean;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  /** Tells what happens during the turn */
  readonly events: TurnEvents;
  /** The MCP servers for a program that gets them from its client; default none */
  readonly offered?: OfferedServers | undefined;
};

/** MCP servers at addresses that the session's processes can reach. */
export type OfferedServers = {
  readonly servers: readonly { readonly name: string; readonly url: string }[];
  /** Called in each turn of a program that does not accept servers by address */
  readonly onRefused: () => void;
};

/** The answer to a prompt. */
export type ProtocolAnswer = {
  /** Empty only for a command whose output somebody else has got */
  readonly response: string;
  /** The file in the session's home that holds the whole answer; `undefined` if it came another way */
  readonly file: string | undefined;
  readonly exit: Exit;
  /** The tools that the agent requested and was denied */
  readonly denied: readonly string[];
  /** The warnings about the answer, one sentence each */
  readonly warnings: readonly string[];
  /** The process if it can stand by for the session's next turn; left out if it has ended */
  readonly kept?: AgentProcess | undefined;
};
