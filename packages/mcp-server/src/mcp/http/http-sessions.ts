import { randomUUID } from "node:crypto";
import { createByteBudget } from "@budgie/core/bounds";
import type { ClientTransport } from "../connection/client-transport.ts";
import type { Connection } from "../connection/connection.ts";
import type { HttpLimits } from "./http-limits.ts";
import { createHttpTransport, type HttpRequest } from "./http-transport.ts";
import { createInbox, type Inbox } from "./inbox.ts";

/** One client's MCP session over HTTP. */
export type HttpSession = {
  readonly id: string;
  readonly inbox: Inbox;
  /** Resolves when the response has ended. */
  readonly handle: (asked: HttpRequest) => Promise<void>;
};

/** The MCP sessions of a server, one for each client. */
export type HttpClients = {
  /** Creates a session; `undefined` if the limit is reached. */
  readonly begin: () => Promise<HttpSession | undefined>;
  readonly find: (id: string) => HttpSession | undefined;
  /** The requests that name no session */
  readonly inbox: Inbox;
  readonly notifyToolListChanged: () => void;
  /** Ends all sessions, and resolves when what they own has ended too. */
  readonly close: () => Promise<void>;
};

export type HttpClientsOptions = {
  readonly limits: HttpLimits;
  /** The time that a session may be idle: without a connection and without a call */
  readonly ttlMs: number;
  readonly connect: (transport: ClientTransport, onClientClosed: () => void) => Connection;
  readonly report: (line: string) => void;
};

type Live = HttpSession & {
  readonly notifyToolListChanged: () => void;
  readonly end: () => void;
  /** Returns the time without a connection and without a call; `undefined` while there is one. */
  readonly idleMs: () => number | undefined;
};

/** Creates the table of sessions, which ends idle ones. */
export function createHttpSessions({ connect, limits, report, ttlMs }: HttpClientsOptions): HttpClients {
  const live = new Map<string, Live>();
  const allPending = createByteBudget(limits.allPendingBytes);
  const ending = new Set<Promise<void>>();
  let isClosed = false;

  function end(id: string, connection: Connection): void {
    if (!live.delete(id)) return;
    const ended = connection
      .close()
      .catch((error: unknown) => report(String(error instanceof Error ? error.stack : error)))
      .finally(() => ending.delete(ended));
    ending.add(ended);
  }

  /** Ends the session that has been idle longest, if that is long enough: clients rarely end their sessions themselves. */
  function makeRoom(): void {
    const [longest] = [...live.values()].toSorted((a, b) => (b.idleMs() ?? -1) - (a.idleMs() ?? -1));
    if (longest !== undefined && (longest.idleMs() ?? -1) >= limits.yieldAfterMs) longest.end();
  }

  async function begin(): Promise<HttpSession | undefined> {
    if (live.size >= limits.sessions) makeRoom();
    if (isClosed || live.size >= limits.sessions) return undefined;
    const id = randomUUID();
    let idle: NodeJS.Timeout | undefined;
    let idleSince: number | undefined;
    const onActivity = (): void => {
      clearTimeout(idle);
      idleSince = transport.isBusy() ? undefined : performance.now();
      if (live.has(id) && idleSince !== undefined) idle = setTimeout(close, ttlMs).unref();
    };
    let isNotificationDue = false;
    const notifyToolListChanged = (): void => {
      // A notification without a listening client would be lost.
      isNotificationDue = !transport.isListening();
      if (!isNotificationDue) connection.notifyToolListChanged();
    };
    const onListening = (): void => {
      if (isNotificationDue) notifyToolListChanged();
    };
    const inbox = createInbox(limits, createByteBudget(limits.pendingBytes, allPending));
    const transport = createHttpTransport({ sessionId: id, limits, onActivity, onListening });
    const close = (): void => {
      clearTimeout(idle);
      inbox.pending.end();
      end(id, connection);
    };
    const connection = connect(transport, close);
    const session: Live = {
      id,
      inbox,
      async handle(asked) {
        await transport.handle(asked);
        // The SDK refused the `initialize` request.
        if (!transport.isInitialized()) close();
      },
      notifyToolListChanged,
      end: close,
      idleMs: () => (idleSince === undefined ? undefined : performance.now() - idleSince),
    };
    live.set(id, session);
    await connection.start();
    return session;
  }

  return {
    begin,
    inbox: createInbox(limits, createByteBudget(limits.pendingBytes, allPending)),
    find: (id) => live.get(id),
    notifyToolListChanged() {
      for (const session of live.values()) session.notifyToolListChanged();
    },
    async close() {
      // An open connection could still send another `initialize`.
      isClosed = true;
      for (const session of live.values()) session.end();
      await Promise.allSettled(ending);
    },
  };
}
