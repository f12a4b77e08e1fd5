import { BudgieError } from "@budgie/core";
import type { Cluster } from "../api/index.ts";
import type { Wire } from "../wire/index.ts";
import { deletedError } from "./find-refusal.ts";
import { judgePod, type PodState } from "./judge-pod.ts";

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

type Watched = {
  readonly pods: FollowedPods;
  readonly name: string;
  readonly explain: (reason: BudgieError) => Promise<BudgieError>;
};

/** Follows a Pod to its end, and ends its wire then. The cluster's word comes first: it knows the reason. */
export function watchLoss({ explain, name, pods }: Watched, wire: Wire) {
  let unfollow: () => void = () => undefined;
  const lost = new Promise<BudgieError>((resolve) => {
    unfollow = pods.follow(name, (state) => {
      if (state?.state === "failed") resolve(state.error);
      else if (state === undefined) resolve(deletedError(name));
    });
    void wire.ended.then((reason) => resolve(reason === undefined ? closedError(name) : explain(reason)));
  });
  void lost.then(() => wire.close());
  return { lost, unfollow };
}

function closedError(name: string): BudgieError {
  return new BudgieError(
    "SESSION_UNUSABLE",
    `Budgie has closed its connection to the Pod "${name}". Begin a new session.`,
  );
}
