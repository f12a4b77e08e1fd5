import { BudgieError, type ErrorCode } from "@budgie/core";
import type { Wire } from "../wire/index.ts";

/** A running Pod of a session, and the wire to it. */
export type LivePod = {
  readonly name: string;
  readonly uid: string;
  readonly wire: Wire;
  /** Address of its node; `undefined` if the cluster does not say it */
  readonly nodeAddress: string | undefined;
  /** The Service of the API server as the Pod's programs see it, such as `10.96.0.1:443`, in the Pod's words */
  readonly service: unknown;
  /** The facts that `hold` told of its kernel */
  readonly kernel: { readonly landlock: number; readonly ports: readonly [first: number, last: number] };
  /** False if the agent's folders are another user's, since kubelet made them: git trusts no repository there */
  readonly areFoldersOwn: boolean;
  /** Resolves when it can be used no more: to the reason. Never rejects */
  readonly lost: Promise<BudgieError>;
  /** Removes it, and resolves once it is gone */
  readonly remove: () => Promise<void>;
};

/** Codes of errors for which somebody may have to look at the Pod. */
const ABOUT_PODS: readonly ErrorCode[] = ["AGENT_CRASHED", "RUNNER_UNAVAILABLE", "SESSION_UNUSABLE"];

/** Returns an error of a Pod's work with the Pod's name in its message, and anything else as it is. */
export function namePod({ name }: Pick<LivePod, "name">, error: unknown): unknown {
  if (!(error instanceof BudgieError) || !ABOUT_PODS.includes(error.code) || error.message.includes(name)) return error;
  return new BudgieError(error.code, `${error.message} It was the Pod "${name}".`, {
    cause: error,
    report: error.report,
  });
}
