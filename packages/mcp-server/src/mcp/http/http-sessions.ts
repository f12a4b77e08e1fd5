import { randomUUID } from "node:crypto";
import type { ClientTransport } from "../connection/client-transport.ts";
import type { Connection } from "../connection/connection.ts";
import type { HttpLimits } from "./http-limits.ts";
import { createHttpTransport, type HttpRequest } from "./http-transport.ts";

/** One client's session. */
export type HttpSession = {
  readonly id: string;
  /** Resolves when the response is over. */
  readonly handle: (asked: HttpRequest) => Promise<void>;
};

/** The sessions of a server; each has a client of its own. */
export type HttpSessions = {
  /** Begins a session with its first request; `undefined` if there are as many as there may be. */
  readonly begin: () => Promise<HttpSession | undefined>;
  readonly find: (id: string) => HttpSession | undefined;
  readonly notifyToolListChanged: () => void;
  /** Ends all of them, and resolves when what they own is over too */
  readonly close: () => Promise<void>;
};

export type HttpSessionsOptions = {
  readonly limits: HttpLimits;
  /** How long a session may be without a connection and without a call */
  readonly ttlMs: number;
  readonly connect: (transport: ClientTransport, onClientClosed: () => void) => Connection;
  readonly report: (line: string) => void;
};

type Live = HttpSession & {
  readonly notifyToolListChanged: () => void;
  readonly end: () => void;
  /** For how long it has had no connection and no call; `undefined` while it has */
  readonly idleMs: () => number | undefined;
};

/** Creates the table of sessions, which ends those that nobody uses. */
export function createHttpSessions({ connect, limits, report, ttlMs }: HttpSessionsOptions): HttpSessions {
  const live = new Map<string, Live>();
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

  /** Clients rarely say that they are gone: whoever has been away for longest makes room, and nobody who only just went. */
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
      // What is sent to nobody would come to nobody, unless there was something before it.
      isNotificationDue = !transport.isListening();
      if (!isNotificationDue) connection.notifyToolListChanged();
    };
    const onListening = (): void => {
      if (isNotificationDue) notifyToolListChanged();
    };
    const transport = createHttpTransport({ sessionId: id, limits, onActivity, onListening });
    const close = (): void => {
      clearTimeout(idle);
      end(id, connection);
    };
    const connection = connect(transport, close);
    const session: Live = {
      id,
      async handle(asked) {
        await transport.handle(asked);
        // What was to begin it was refused.
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
    find: (id) => live.get(id),
    notifyToolListChanged() {
      for (const session of live.values()) session.notifyToolListChanged();
    },
    async close() {
      // A connection that is still open could bring another initialize.
      isClosed = true;
      for (const session of live.values()) session.end();
      await Promise.allSettled(ending);
    },
  };
}
