import type { Agent, Runner } from "@budgie/core";
import type { Protocol } from "@budgie/core/protocol";

/** A task that every agent of the contract knows. */
export type Task =
  | "crash"
  | "hang"
  | "paint"
  | "recall"
  | "remember"
  | "say much"
  | "say nothing"
  | "speak"
  | "use a denied tool"
  | "use a tool";

/** A protocol with its agent, and a runner. */
export type ProtocolUnderTest = AsyncDisposable & {
  readonly protocol: Protocol;
  readonly agent: Agent;
  readonly runner: Runner;
  /** An existing directory on the host */
  readonly workspace: string;
  /** Makes the agent forget all conversations */
  readonly forget: () => Promise<void>;
  /** Names what is left of turns, such as processes */
  readonly leftovers: () => Promise<readonly string[]>;
};
