import { isTooDeep, type HealthReport, type Nesting, type RunTurn, type SessionStore } from "@budgie/core";
import type { Config } from "../config/config.ts";
import type { Client } from "../mcp/connection/connection.ts";
import { toLongCallTools } from "../mcp/long-calls/long-call-tools.ts";
import { toSoftDeadlineMs } from "../mcp/long-calls/soft-deadline.ts";
import { createClientTools, type ClientTools } from "../mcp/calls/call-tool.ts";
import type { Tool } from "../mcp/tools/tool.ts";
import { withLongCalls } from "../mcp/long-calls/with-long-calls.ts";
import { createSessionOwners, withOwnedSessions } from "./own-sessions.ts";
import { withStickySessions } from "./sticky-sessions.ts";

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
  readonly health: () => Promise<HealthReport>;
  /** Called when a client lists tools that it may call */
  readonly onList: () => void;
  /** Called before each tool call */
  readonly onCall: () => void;
  readonly report: (line: string) => void;
};

type Options = Pick<Config, "softDeadline" | "stickySessions" | "toolNames" | "toolPrefix" | "tools" | "verbose">;

/** Returns a function that creates the tools of a client, with everything that belongs to that client alone. */
export function createClients(config: Options, options: ClientsOptions): (client: Client) => ClientTools {
  const { areApart, nesting, onList, report, runTurn, sessions, ...shared } = options;
  const owners = areApart ? createSessionOwners(sessions) : undefined;
  const longCallTools = toLongCallTools(config);

  return ({ info }) => {
    const owner = owners?.addClient();
    const clientTurn = runTurn(() => info()?.name);
    const ownTurn = owner === undefined ? clientTurn : withOwnedSessions(clientTurn, owner);
    const clientTools = createClientTools({
      ...shared,
      ...(owner === undefined ? {} : { endSessions: owner.remove }),
      runTurn: config.stickySessions ? withStickySessions(ownTurn) : ownTurn,
      report: config.verbose ? report : undefined,
    });
    const tools = withLongCalls(clientTools, {
      deadlineMs: () => toSoftDeadlineMs(config.softDeadline, info()),
      tools: longCallTools,
      report,
    });
    const definitions = (): ReturnType<typeof tools.definitions> => {
      if (isTooDeep(nesting)) return [];
      onList();
      return tools.definitions();
    };
    return { ...tools, definitions };
  };
}
