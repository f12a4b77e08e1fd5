import type { ClusterObject, PodChange } from "./cluster.ts";

/** The Pods of a watch, as they were told last. */
export type KnownPods = {
  /** Takes an event of the watch */
  readonly see: (pod: ClusterObject, isGone: boolean) => void;
  /** Begins to list all Pods; call the result with the list. What was seen meanwhile is newer */
  readonly beginList: () => (pods: readonly ClusterObject[]) => void;
};

const MOST_GONE = 10_000;

/** Creates a memory of Pods that tells each change once. */
export function createKnownPods(tell: (change: PodChange) => void): KnownPods {
  const known = new Map<string, { readonly pod: ClusterObject; readonly at: number }>();
  const gone = new Set<string>();
  let now = 0;

  function see(pod: ClusterObject, isGone: boolean): void {
    // A uid is never used again, so this is late news.
    if (gone.has(pod.uid)) return;
    const last = known.get(pod.uid);
    now += 1;
    if (isGone) {
      known.delete(pod.uid);
      if (gone.size >= MOST_GONE) gone.clear();
      gone.add(pod.uid);
    } else known.set(pod.uid, { pod, at: now });
    if (isGone ? last !== undefined : last?.pod.resourceVersion !== pod.resourceVersion) tell({ pod, isGone });
  }

  return {
    see,
    beginList() {
      const begun = now;
      return (pods) => {
        const listed = new Set(pods.map(({ uid }) => uid));
        for (const { at, pod } of known.values()) if (at <= begun && !listed.has(pod.uid)) see(pod, true);
        for (const pod of pods) if ((known.get(pod.uid)?.at ?? 0) <= begun) see(pod, false);
      };
    },
  };
}
