import { EventEmitter } from "node:events";
import type { EgressReport } from "../egress.ts";
import type { McpCall } from "../runs/run-log.ts";
import type { Exit } from "../runner/runner.ts";
import type { UsageReport } from "../usage.ts";

/** The phase of a turn. */
export type Phase =
  | {
      readonly phase: "waiting";
      /** The position among all waiting turns; 1 for the next */
      readonly position: number;
    }
  /** The turn left the queue, and its session and process are being created */
  | {
      readonly phase: "starting";
      /** The part of it that takes long, in a few words, such as `copying 1,200 of 3,400 files` */
      readonly doing?: string | undefined;
    }
  | {
      readonly phase: "running";
      /** The number of the attempt; 2 after the first timed out or crashed */
      readonly attempt: number;
      /** The agent's present activity on one line, in its own words; left out if its program does not report it */
      readonly activity?: string | undefined;
    };

/** A turn and its phase. */
export type TurnProgress = Phase & {
  readonly agent: string;
  readonly runId: string;
  /** `undefined` until the session is open */
  readonly sessionId: string | undefined;
  /** The start of the phase, by `performance.now()` */
  readonly sinceMs: number;
};

/** The arguments of each event. */
type Events = {
  /** The phase, the position in the queue, the session's id or the agent's activity changed */
  readonly phase: [TurnProgress];
  /** The session is open */
  readonly session: [id: string];
  /** The agent program printed something */
  readonly output: [chunk: Buffer, stream: "stderr" | "stdout"];
  /** The agent does something else now, such as calling a tool: one line */
  readonly activity: [text: string];
  /** Each second of a running turn: the network access since the last event */
  readonly egress: [since: EgressReport];
  /** The agent used a tool: its name, or the kind that its program gives it */
  readonly tool: [name: string];
  /** A call of a tool of an MCP server that budgie runs has ended */
  readonly mcpCall: [call: McpCall];
  /** The attempt has cost this so far, as its program says; a later report replaces an earlier one */
  readonly usage: [report: UsageReport];
  /** A budget that the turn counts to is nearly spent, or spent: one sentence */
  readonly budget: [notice: string];
  /** The caller is answered now, and the turn continues: its soft deadline */
  readonly late: [deadlineMs: number];
  /** The process that the turn started last has ended */
  readonly exit: [exit: Exit];
};

/** Everything that is told during a turn. Listeners must return at once, and must not throw. */
export class TurnEvents extends EventEmitter<Events> {}
