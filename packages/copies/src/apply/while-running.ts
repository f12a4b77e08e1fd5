import type { Owner } from "@budgie/core";

/** An apply that an owner works on, by the name of its stage. */
export type StageOfOwner = { readonly owner: Pick<Owner, "record">; readonly stage: string };

const running = new Set<string>();

/** Runs work on an apply, so that its owner does not take it for one that was given up. */
export async function whileRunning<T>(stage: StageOfOwner, work: () => Promise<T>): Promise<T> {
  const key = toKey(stage);
  running.add(key);
  try {
    return await work();
  } finally {
    running.delete(key);
  }
}

/** Returns true while an owner works on an apply. */
export function isRunning(stage: StageOfOwner): boolean {
  return running.has(toKey(stage));
}

function toKey({ owner, stage }: StageOfOwner): string {
  return `${owner.record.instance}/${stage}`;
}
