import {
  isSessionId,
  toReasonToKeep,
  type GcPolicy,
  type GcSubject,
  type Owner,
  type OwnerRecord,
  type OwnerState,
  type RecordPlace,
  type SessionUse,
} from "@budgie/core";
import type { LabelledThing } from "./find-labelled.ts";
import type { LabelFacts } from "../engine/labels.ts";

/** Tells why a thing must stay, or `undefined` if it may go. */
export type GarbageJudge = (facts: LabelFacts) => Promise<string | undefined>;

type Place = { readonly owner: Owner; readonly policy: GcPolicy };

/** Creates the judge of what was found on an engine; each owner is asked once, and one that only has its name apart from it. */
export function createGarbageJudge(things: readonly LabelledThing[], { owner, policy }: Place): GarbageJudge {
  const leases = new Set(things.filter(isLease).map(({ facts }) => facts.owner.instance));
  const kept = new Set(things.filter(({ facts }) => facts.keepMs > 0).map(({ facts }) => facts.session));
  const youngest = toYoungest(things);
  const asked = new Map<string, Promise<OwnerState>>();

  function stateOf(record: OwnerRecord, place: RecordPlace): Promise<OwnerState> {
    // Whoever reaches the engine can write another's name beside a lock that nobody holds.
    const key = JSON.stringify([place, record]);
    const state = asked.get(key) ?? owner.stateOf(record, place);
    asked.set(key, state);
    return state;
  }

  async function loadSubject(facts: LabelFacts): Promise<GcSubject> {
    const use = kept.has(facts.session) ? await findUse(facts, policy) : undefined;
    const made = await stateOf(facts.owner, "labels");
    const has = use === undefined ? made : await stateOf(use.owner, "state-directory");
    return {
      // Who made a thing of a session that another has by now may still be needed.
      owner: made === "own" || made === "live" ? made : has,
      usedMs: Math.max(use?.usedMs ?? 0, youngest.get(toGroup(facts)) ?? 0),
      keepMs: toKeepMs(facts, use),
      hasLease: leases.has((use?.owner ?? facts.owner).instance),
    };
  }

  return async (facts) => {
    if (facts.owner.instance === "" && policy.force !== true) return "its labels do not say whose it is";
    return toReasonToKeep(await loadSubject(facts), policy);
  };
}

/** The labels are those of who made it, and stay as they are when another goes on with it for longer. */
function toKeepMs({ keepMs }: LabelFacts, use: SessionUse | undefined): number {
  return keepMs === 0 ? 0 : (use?.keepMs ?? keepMs);
}

/** What ends with its owner, since the owner holds its stdin. */
function isLease({ facts: { role }, isRunning }: LabelledThing): boolean {
  return isRunning && (role === "turn" || role === "proxy");
}

/** A session's things go together, so they are as old as the youngest of them. */
function toYoungest(things: readonly LabelledThing[]): ReadonlyMap<string, number> {
  const youngest = new Map<string, number>();
  for (const { facts } of things) {
    const group = toGroup(facts);
    youngest.set(group, Math.max(youngest.get(group) ?? 0, facts.created.getTime()));
  }
  return youngest;
}

function toGroup({ owner: { instance }, session }: LabelFacts): string {
  return `${instance} ${session}`;
}

async function findUse({ session }: LabelFacts, { sessions }: GcPolicy): Promise<SessionUse | undefined> {
  return isSessionId(session) ? sessions?.(session) : undefined;
}
