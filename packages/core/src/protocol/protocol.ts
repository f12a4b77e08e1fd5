import type { Agent } from "../agents/agent.ts";
import type { EgressMode } from "../egress.ts";
import type { McpServerReport } from "../errors.ts";
import type { McpCall, Usage } from "../runs/run-log.ts";
import type { AgentProcess, Exit, RunnerSession } from "../runner/runner.ts";

/** A way to talk to an agent program: one prompt in, one answer out. */
export type Protocol = (turn: ProtocolTurn) => Promise<ProtocolAnswer>;

/** A prompt to an agent in a session. */
export type ProtocolTurn = {
  readonly agent: Agent;
  readonly session: RunnerSession;
  readonly directory: string;
  readonly prompt: string;
  /** True if the session may have a conversation to resume */
  readonly resume: boolean;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  /** The mode of the turn's network access; default: any */
  readonly egress?: EgressMode | undefined;
  /** Called with all output of the agent program as it arrives */
  readonly onOutput?: OnOutput | undefined;
  /** Called with the agent's present activity, such as the title of a tool, on one line */
  readonly onActivity?: ((activity: string) => void) | undefined;
  /** Called after each tool call to an MCP server that budgie runs */
  readonly onMcpCall?: ((call: McpCall) => void) | undefined;
  /** The MCP servers for a program that gets them from its client; default none */
  readonly offered?: OfferedServers | undefined;
  /** True if the agent's process may live on for the session's next turn; by default it must end */
  readonly mayKeep?: boolean | undefined;
};

/** MCP servers at addresses that the session's processes can reach. */
export type OfferedServers = {
  readonly servers: readonly { readonly name: string; readonly url: string }[];
  /** Called in each turn of a program that does not accept servers by address */
  readonly onRefused: () => void;
};

/** Follows the output of a process. It must return at once, and must not throw. */
export type OnOutput = (chunk: Buffer, stream: "stderr" | "stdout") => void;

/** The answer to a prompt. */
export type ProtocolAnswer = {
  readonly response: string;
  /** The file in the session's home that holds the whole answer; `undefined` if it came another way */
  readonly file: string | undefined;
  readonly exit: Exit;
  /** The tools that the agent requested and was denied */
  readonly denied: readonly string[];
  /** The cost; left out if the program did not report it */
  readonly usage?: Usage | undefined;
  /** The warnings about the answer, one sentence each */
  readonly warnings: readonly string[];
  /** The agent's MCP servers that budgie runs; left out if it runs none */
  readonly mcpServers?: readonly McpServerReport[] | undefined;
  /** The process if it lives on, which the next identical start returns again; left out if it has ended */
  readonly kept?: KeptProcess | undefined;
};

/** A process between two turns of its session. */
export type KeptProcess = {
  readonly process: AgentProcess;
  /** Lets it end by itself, or else stops it. Rejects like `AgentProcess.stop` */
  readonly end: () => Promise<unknown>;
};
