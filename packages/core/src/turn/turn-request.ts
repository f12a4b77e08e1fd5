import type { Agent } from "../agents/agent.ts";
import type { Amounts } from "../budget/budget.ts";
import type { Policy, Tightening } from "../policy/policy.ts";
import type { StartOptions } from "../runner/runner.ts";
import type { SharedBase } from "./workspace-copies.ts";

/** A call of an agent. */
export type TurnRequest = {
  /** The agent's name */
  readonly agent: string;
  readonly prompt: string;
  /** The workspace: an absolute path on the host */
  readonly directory: string;
  /** The `sessionId` of an earlier reply, to resume its conversation */
  readonly sessionId?: string | undefined;
  /** The restrictions of this turn in addition to the agent's own */
  readonly tightening?: Tightening | undefined;
  /** The most that this call may use, if that is less than configured */
  readonly budget?: Amounts | undefined;
  /** The base that it shares with other calls; default none */
  readonly sharedBase?: SharedBase | undefined;
  /** True to have the session's copy take over what changed in the directory since it was made */
  readonly refresh?: boolean | undefined;
};

/** A call that was checked completely, before anything is started for it. */
export type CheckedRequest = Pick<StartOptions, "directory"> & {
  readonly agent: Agent;
  /** Sanitized */
  readonly prompt: string;
  /** The size as the caller sent it */
  readonly promptBytes: number;
  readonly policy: Policy;
  readonly sessionId: string | undefined;
};
