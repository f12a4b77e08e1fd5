import { dirname } from "node:path";
import { isSessionId, findReasonToKeep, type GcPolicy, type GcSubject, type Owner, type LastUse } from "@budgie/core";
import type { OwnerRecord, OwnerState, RecordPlace } from "@budgie/core/owners";
import type { LabelledThing } from "./find-labelled-things.ts";
import type { LabelFacts } from "../engine/to-labels.ts";

/** Returns the reason to keep a container or volume; `undefined` if it may be removed. */
export type GarbageRules = (facts: LabelFacts) => Promise<string | undefined>;

type RulesOptions = { readonly owner: Owner; readonly policy: GcPolicy };

/** Creates the rules for what was found on an engine. Each owner's state is read once; records that differ count as different owners. */
export function createGarbageRules(things: readonly LabelledThing[], { owner, policy }: RulesOptions): GarbageRules {
  const leases = new Set(things.filter(isLease).map(({ facts }) => facts.owner.instance));
  const kept = new Set(things.filter(({ facts }) => facts.keepMs > 0).map(({ facts }) => facts.session));
  const youngest = findYoungest(things);
  const asked = new Map<string, Promise<OwnerState>>();

  function stateOf(record: OwnerRecord, place: RecordPlace): Promise<OwnerState> {
    // Anyone with access to the engine can write another owner's name beside a lock that nobody holds.
    const key = JSON.stringify([place, record]);
    const state = asked.get(key) ?? owner.stateOf(record, place);
    asked.set(key, state);
    return state;
  }

  /** Returns true if no call ever took a session that was made ahead. Another state directory's register could hold it. */
  function isUnused({ isAhead, owner: { lock } }: LabelFacts, use: LastUse | undefined): boolean {
    if (!isAhead || use !== undefined || policy.sessions === undefined) return false;
    return dirname(lock) === dirname(owner.record.lock);
  }

  function keepMsOf(facts: LabelFacts, use: LastUse | undefined): number {
    return isUnused(facts, use) ? 0 : findKeepMs(facts, use);
  }

  async function loadSubject(facts: LabelFacts): Promise<GcSubject> {
    const use = kept.has(facts.session) ? await findUse(facts, policy) : undefined;
    const made = await stateOf(facts.owner, "labels");
    const has = use === undefined ? made : await stateOf(use.owner, "state-directory");
    return {
      // The creator may still use what belongs to a session that another owner has now.
      owner: made === "own" || made === "live" ? made : has,
      usedMs: Math.max(use?.usedMs ?? 0, youngest.get(toGroup(facts)) ?? 0),
      keepMs: keepMsOf(facts, use),
      hasLease: leases.has((use?.owner ?? facts.owner).instance),
    };
  }

  return async (facts) => {
    if (facts.owner.instance === "" && policy.force !== true) return "its labels do not say whose it is";
    return findReasonToKeep(await loadSubject(facts), policy);
  };
}

/** Returns the keep time. The creator's labels do not change when another owner resumes the session with a longer one. */
function findKeepMs({ keepMs }: LabelFacts, use: LastUse | undefined): number {
  return keepMs === 0 ? 0 : (use?.keepMs ?? keepMs);
}

/** Returns true if a container ends with its owner, which holds its stdin open. */
function isLease({ facts: { role }, isRunning }: LabelledThing): boolean {
  return isRunning && (role === "turn" || role === "proxy");
}

/** Returns the latest creation time by session: its containers and volumes are removed together. */
function findYoungest(things: readonly LabelledThing[]): ReadonlyMap<string, number> {
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

async function findUse({ session }: LabelFacts, { sessions }: GcPolicy): Promise<LastUse | undefined> {
  return isSessionId(session) ? sessions?.(session) : undefined;
}
