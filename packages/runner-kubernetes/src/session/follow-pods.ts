import type { BudgieError } from "@budgie/core";
import { judgePod, type Cluster, type PodState } from "../api/index.ts";

/** The Pods of this budgie, as the cluster tells of them. */
export type FollowedPods = {
  /** Tells the state of a Pod now and at each change, until the returned function is called. A Pod that is gone is told as `undefined` */
  readonly follow: (name: string, onState: (state: PodState | undefined) => void) => () => void;
  /** True once the cluster does not allow it any more */
  readonly isRefused: () => boolean;
  readonly close: () => void;
};

type Follower = (state: PodState | undefined) => void;

const MOST_GONE = 1_000;

/** Follows all Pods with a label by one watch. If the cluster does not allow that, each Pod counts as failed. */
export function followPods(cluster: Pick<Cluster, "watchPods">, selector: string): FollowedPods {
  const states = new Map<string, PodState>();
  const gone = new Set<string>();
  const followers = new Map<string, Follower>();
  let refusal: PodState | undefined;

  const watch = cluster.watchPods(selector, ({ isGone, pod }) => {
    const state = isGone ? undefined : judgePod(pod);
    if (state === undefined) forget(pod.name);
    else states.set(pod.name, state);
    followers.get(pod.name)?.(state);
  });
  /** Notes a Pod that is gone. Whoever follows it next hears of that, as no other change will come. */
  function forget(name: string): void {
    states.delete(name);
    if (gone.size >= MOST_GONE) gone.clear();
    gone.add(name);
  }

  void watch.ended.then((error) => {
    if (error === undefined) return;
    refusal = { state: "failed", error: error as BudgieError };
    for (const tell of followers.values()) tell(refusal);
  });

  return {
    follow(name, onState) {
      followers.set(name, onState);
      const state = refusal ?? states.get(name);
      if (state !== undefined || gone.has(name)) onState(state);
      return () => {
        if (followers.get(name) === onState) followers.delete(name);
      };
    },
    isRefused: () => refusal !== undefined,
    close: watch.close,
  };
}
