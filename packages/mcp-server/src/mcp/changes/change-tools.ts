import { timingSafeEqual } from "node:crypto";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { BudgieError, type Owner } from "@budgie/core";
import type { ChangesReview } from "@budgie/core/errors";
import type { FileTrust } from "@budgie/core/policy";
import type { BaseFiles } from "@budgie/copies/copying";
import type { ShownChanges } from "@budgie/copies/diffs";
import type { ChangeSets, StoredSet } from "@budgie/copies/sets";
import type { CallHooks, ClientTools } from "../calls/client-tools.ts";
import { toErrorResult } from "../calls/to-reply-result.ts";
import { findTool } from "../names/find-tool.ts";
import { parseToolInput } from "../tools/parse-tool-input.ts";
import { applyInput, changesInput, discardInput, type ChangeTool } from "./build-change-tools.ts";

export type ChangesOptions = {
  readonly tools: readonly ChangeTool[];
  /** True if the client's person confirms each apply */
  readonly isAsked: boolean;
  /** Returns true if clients are told of the tools; calls work at any time */
  readonly areListed: () => boolean;
  readonly openSets: () => Promise<ChangeSets>;
  /** The directories as they were copied */
  readonly bases: Pick<BaseFiles, "load">;
  readonly owner: Owner;
  /** Remembers the directories that get an agent's changes */
  readonly fileTrust: Pick<FileTrust, "note">;
  /** Returns true for a session that a turn of the client ran in */
  readonly isOwn: (sessionId: string) => boolean;
};

/** Creates a client's tools for the changes of its own sessions. To another client's tools these do not exist. */
export function createChangeTools(options: ChangesOptions): ClientTools {
  const { areListed, bases, fileTrust, isAsked, isOwn, openSets, owner, tools } = options;
  let last: { readonly id: string; readonly shown: ShownChanges } | undefined;

  async function listOwn(): Promise<readonly StoredSet[]> {
    return (await (await openSets()).list()).filter(({ sessionId }) => isOwn(sessionId));
  }

  /** Finds a client's set. The contents of others are not read, of which there may be many. */
  async function findOwn(changeId: string): Promise<StoredSet> {
    const sets = await openSets();
    const own = (await sets.archive.sizes()).filter(({ sessionId }) => isOwn(sessionId));
    return sets.find(findId(own, changeId));
  }

  async function show(input: unknown): Promise<CallToolResult> {
    const { changeId, page = 1 } = parseToolInput(changesInput, input);
    const { toListResult, toPageResult } = await load();
    if (!changeId) return toListResult(await listOwn());
    const stored = await findOwn(changeId);
    // The diffs run in a thread of their own.
    const [shown, reviewed] = await Promise.all([render(stored), review(stored)]);
    if (page > shown.pages.length) {
      throw new BudgieError("INPUT_INVALID", `There is no page ${page}: the change set has ${shown.pages.length}.`);
    }
    return toPageResult(stored, { shown, page, review: reviewed });
  }

  /** Compares a set that waits with its directory as it is now. Only the client's own sets are named. */
  async function review(stored: StoredSet): Promise<ChangesReview | undefined> {
    if (!isWaiting(stored)) return undefined;
    const [sets, { reviewSet }] = await Promise.all([openSets(), import("@budgie/copies/review")]);
    const base = await bases.load(stored.sessionId);
    const others = (await sets.listOpen(stored.root)).filter(({ sessionId }) => isOwn(sessionId));
    return reviewSet(stored, { sets, base, others });
  }

  /** Renders a set once for all of its pages, so that they belong together. */
  async function render({ id, set }: StoredSet): Promise<ShownChanges> {
    if (last?.id === id) return last.shown;
    const { showChanges } = await import("@budgie/copies/diffs");
    const shown = await showChanges(set, await openSets());
    last = { id, shown };
    return shown;
  }

  async function apply(input: unknown, { ask }: Pick<CallHooks, "ask">): Promise<CallToolResult> {
    const { changeId, onConflict = "stop", reviewToken } = parseToolInput(applyInput, input);
    const stored = await findOwn(changeId);
    if (!isSame(reviewToken, stored.token)) {
      throw new BudgieError(
        "INPUT_INVALID",
        "The reviewToken is not the one of this change set. Read its changes to the last page, which has the token.",
      );
    }
    if (isAsked) {
      const [{ notOpen }, { askToApply }] = await Promise.all([
        import("@budgie/copies/sets"),
        import("./ask-to-apply.ts"),
      ]);
      // One that waits by the time of the apply would be applied without a question.
      if (!isWaiting(stored)) throw notOpen(stored);
      await askToApply(stored, { ask, inConflict: onConflict, review: await review(stored) });
    }
    const { applyChanges } = await import("@budgie/copies/apply");
    const { toAppliedResult } = await load();
    const sets = await openSets();
    const asked = { sets, owner, fileTrust, id: stored.id, onConflict, withGuarded: false } as const;
    return toAppliedResult(await applyChanges(asked));
  }

  async function discard(input: unknown): Promise<CallToolResult> {
    const { changeId } = parseToolInput(discardInput, input);
    const { id, state } = await (await openSets()).discard((await findOwn(changeId)).id);
    return {
      content: [{ type: "text", text: `The change set is ${state}.` }],
      structuredContent: { changeId: id, state },
    };
  }

  const calls = { changes: show, apply_changes: apply, discard_changes: discard };

  return {
    definitions: () => (areListed() ? tools.map(({ definition }) => definition) : []),
    call(name, input, hooks) {
      const tool = findTool(tools, name);
      return tool && calls[tool.kind](input, hooks).catch(toErrorResult);
    },
    stop: () => undefined,
    close: async () => undefined,
  };
}

/** Loads what writes results late: a server without copies never needs it. */
function load() {
  return import("./to-page-result.ts");
}

function isWaiting({ state }: StoredSet): boolean {
  return state === "pending" || state === "partly";
}

const SHORTEST_ID = 8;

function findId(own: readonly Pick<StoredSet, "id">[], changeId: string): string {
  const found = own.filter(({ id }) => changeId.length >= SHORTEST_ID && id.startsWith(changeId));
  const [stored] = found;
  if (stored !== undefined && found.length === 1) return stored.id;
  throw new BudgieError(
    "INPUT_INVALID",
    `None of your sessions has the change set ${JSON.stringify(changeId.slice(0, 64))}. Call changes without a changeId to list yours.`,
  );
}

function isSame(given: string, token: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(token)];
  return one.length === other.length && timingSafeEqual(one, other);
}
