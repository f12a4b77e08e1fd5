import { BudgieError } from "@budgie/core";
import { judgePod, type Cluster, type PodState } from "../api/index.ts";
import type { Wire } from "../wire/index.ts";

/** The Pods of this budgie, as the cluster tells of them. */
export type FollowedPods = {
  /** Tells the state of a Pod now and at each change, until the returned function is called. A Pod that is gone is told as `undefined` */
  readonly follow: (name: string, onState: (state: PodState | undefined) => void) => () => void;
  readonly close: () => void;
};

type Follower = (state: PodState | undefined) => void;

/** Follows all Pods with a label by one watch. If the cluster does not allow that, each Pod counts as failed. */
export function followPods(cluster: Pick<Cluster, "watchPods">, selector: string): FollowedPods {
  const states = new Map<string, PodState>();
  const followers = new Map<string, Follower>();
  let refusal: PodState | undefined;

  const watch = cluster.watchPods(selector, ({ isGone, pod }) => {
    const state = isGone ? undefined : judgePod(pod);
    if (state === undefined) states.delete(pod.name);
    else states.set(pod.name, state);
    followers.get(pod.name)?.(state);
  });
  void watch.ended.then((error) => {
    if (error === undefined) return;
    refusal = { state: "failed", error: error as BudgieError };
    for (const tell of followers.values()) tell(refusal);
  });

  return {
    follow(name, onState) {
      followers.set(name, onState);
      const state = refusal ?? states.get(name);
      if (state !== undefined) onState(state);
      // Another one may follow it by then.
      return () => void (followers.get(name) === onState && followers.delete(name));
    },
    close: watch.close,
  };
}

/** Follows a Pod to its end, and ends its wire then. The cluster's word comes first: it knows the reason. */
export function watchLoss(pods: FollowedPods, name: string, wire: Wire) {
  let unfollow: () => void = () => undefined;
  const lost = new Promise<BudgieError>((resolve) => {
    unfollow = pods.follow(name, (state) => {
      if (state?.state === "failed") resolve(state.error);
      else if (state === undefined) resolve(deletedError(name));
    });
    void wire.ended.then((reason) => resolve(reason ?? closedError(name)));
  });
  void lost.then(() => wire.close());
  return { lost, unfollow };
}

function deletedError(name: string): BudgieError {
  return new BudgieError("AGENT_CRASHED", `The Pod "${name}" was deleted by somebody else. Begin a new session.`);
}

function closedError(name: string): BudgieError {
  return new BudgieError("SESSION_UNUSABLE", `The Pod "${name}" was given up. Begin a new session.`);
}
