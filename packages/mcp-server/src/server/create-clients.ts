import type { Owner, RunTurn } from "@budgie/core";
import { isTooDeep, type FileTrust, type Nesting } from "@budgie/core/policy";
import type { HealthReport } from "@budgie/core/runs";
import type { SessionStore } from "@budgie/core/sessions";
import type { Step } from "@budgie/core/turn";
import { hasCopies } from "../config/has-copies.ts";
import type { ServerConfig } from "../config/server-config.ts";
import type { Client } from "../mcp/connection/connection.ts";
import { buildLongCallTools } from "../mcp/long-calls/build-long-call-tools.ts";
import { findSoftDeadlineMs } from "../mcp/long-calls/find-soft-deadline-ms.ts";
import { createClientTools, type ClientTools } from "../mcp/calls/client-tools.ts";
import type { Tool } from "../mcp/tools/tool.ts";
import { createLongCalls } from "../mcp/long-calls/long-calls.ts";
import { buildChangeTools } from "../mcp/changes/build-change-tools.ts";
import { byName } from "../mcp/names/find-tool.ts";
import { runParallel } from "../mcp/parallel/run-parallel.ts";
import type { FoundOverlaps } from "../mcp/parallel/to-parallel-result.ts";
import { createChangeTools } from "../mcp/changes/change-tools.ts";
import type { ChangeSetsOpener } from "./change-sets-opener.ts";
import { createSessionOwners, ownSessions } from "./own-sessions.ts";
import { stickySessions } from "./sticky-sessions.ts";

/** Options that all clients share. */
export type ClientsOptions = {
  readonly tools: () => readonly Tool[];
  /** A budgie that is nested too deeply offers no tools, and refuses calls of those that a client still knows */
  readonly nesting: Nesting;
  /** Returns the turns of a client with this self-given name */
  readonly runTurn: (name: () => string | undefined) => RunTurn;
  readonly sessions: Pick<SessionStore, "end">;
  /** `true` if several clients connect, which must not find each other's sessions */
  readonly areApart: boolean;
  readonly changes: ChangeSetsOpener;
  /** This process, which applies changes */
  readonly owner: Owner;
  /** Remembers the directories that get an agent's changes */
  readonly fileTrust: Pick<FileTrust, "note">;
  readonly health: () => Promise<HealthReport>;
  /** Called when a client lists tools that it may call */
  readonly onList: () => void;
  /** Called before each tool call */
  readonly onCall: () => void;
  readonly report: (line: string) => void;
};

type Options = Pick<
  ServerConfig,
  | "apply"
  | "policies"
  | "softDeadline"
  | "stickySessions"
  | "toolNames"
  | "toolPrefix"
  | "tools"
  | "verbose"
  | "workspaces"
>;

/** Returns a function that creates the tools of a client, with everything that belongs to that client alone. */
export function createClients(config: Options, options: ClientsOptions): (client: Client) => ClientTools {
  const {
    areApart,
    changes,
    fileTrust,
    nesting,
    onList,
    owner: process,
    report,
    runTurn,
    sessions,
    ...shared
  } = options;
  const owners = areApart ? createSessionOwners(sessions) : undefined;
  const longCallTools = buildLongCallTools(config);
  const changeTools = buildChangeTools(config);
  const areListed = hasCopies(config);

  async function findOverlaps(changeIds: readonly string[]): Promise<FoundOverlaps> {
    const sets = await changes.open();
    const { findOverlaps: findIn } = await import("../mcp/parallel/find-overlaps.ts");
    return findIn(await Promise.all(changeIds.map(sets.find)));
  }

  return ({ info }) => {
    const owner = owners?.addClient();
    const clientTurn = runTurn(() => info()?.name);
    const own = new Set<string>();
    const noteOwn: Step = (turn, next) => {
      turn.events.on("session", (sessionId) => void own.add(sessionId));
      return next();
    };
    const longCalls = createLongCalls({
      deadlineMs: () => findSoftDeadlineMs(config.softDeadline, info()),
      tools: longCallTools,
      report,
    });
    const steps = [
      longCalls.step,
      noteOwn,
      ...(config.stickySessions ? [stickySessions()] : []),
      ...(owner === undefined ? [] : [ownSessions(owner)]),
    ];
    const agentTools = createClientTools({
      ...shared,
      begin: longCalls.begin,
      ...(owner === undefined ? {} : { endSessions: owner.remove }),
      runTurn: (request, hooks) => clientTurn(request, { ...hooks, steps }),
      report: config.verbose ? report : undefined,
      runParallel: (input, call, hooks) =>
        longCalls.runInTime(hooks, (signal) => runParallel(input, { ...call, findOverlaps }, { ...hooks, signal })),
    });
    const ownChanges = createChangeTools({
      tools: changeTools,
      isAsked: config.apply === "ask",
      areListed: () => areListed,
      openSets: changes.open,
      bases: changes.bases,
      owner: process,
      fileTrust,
      isOwn: (sessionId) => own.has(sessionId),
    });
    const tools = joinTools([ownChanges, longCalls, agentTools]);
    const definitions = (): ReturnType<typeof tools.definitions> => {
      if (isTooDeep(nesting)) return [];
      onList();
      return tools.definitions();
    };
    return { ...tools, definitions };
  };
}

/** Joins sets of tools to those of one client. Each ends before those behind it. */
function joinTools(sets: readonly ClientTools[]): ClientTools {
  return {
    definitions: () => sets.flatMap((set) => set.definitions()).toSorted(byName),
    call(name, input, hooks) {
      for (const set of sets) {
        const call = set.call(name, input, hooks);
        if (call !== undefined) return call;
      }
      return undefined;
    },
    stop() {
      for (const set of sets) set.stop();
    },
    async close() {
      for (const set of sets) await set.close();
    },
  };
}
