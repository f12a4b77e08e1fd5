import type { ServerResponse } from "node:http";
import type { RequestId } from "@modelcontextprotocol/sdk/types.js";
import type { StoredStream } from "./event-store.ts";

/** What was asked in one POST, and where its answers go. */
export type Exchange = {
  /** Requests without an answer */
  readonly waiting: Set<RequestId>;
  /** The connection that carries the answers now, as long as there are any to come; another once the client has come back */
  response: ServerResponse | undefined;
  /** `undefined` until something was written to it */
  stream: StoredStream | undefined;
  /** Whether the server has got to see what was asked */
  isTaken: boolean;
  /** Called when all answers were written to a connection that was open */
  readonly onWritten: (() => void)[];
};

/** The requests of a session that wait for their answers. */
export type Exchanges = {
  /** `undefined` if a request has the id of one that waits: their answers could not be told apart */
  readonly begin: (ids: readonly RequestId[], response: ServerResponse) => Exchange | undefined;
  readonly find: (id: RequestId) => Exchange | undefined;
  /** Notes that a request has its answer, or needs none. */
  readonly settle: (id: RequestId) => Exchange | undefined;
  readonly count: () => number;
};

export function createExchanges(): Exchanges {
  const byId = new Map<RequestId, Exchange>();
  return {
    begin(ids, response) {
      if (ids.some((id) => byId.has(id)) || new Set(ids).size < ids.length) return undefined;
      const waiting = new Set(ids);
      const exchange: Exchange = { waiting, response, stream: undefined, isTaken: false, onWritten: [] };
      for (const id of ids) byId.set(id, exchange);
      return exchange;
    },
    find: (id) => byId.get(id),
    settle(id) {
      const exchange = byId.get(id);
      if (exchange === undefined) return undefined;
      byId.delete(id);
      exchange.waiting.delete(id);
      if (exchange.waiting.size > 0) return exchange;
      // Its stream is kept for long, and a connection is a hundred times as large.
      exchange.response = undefined;
      if (exchange.stream !== undefined) exchange.stream.isOver = true;
      return exchange;
    },
    count: () => byId.size,
  };
}
