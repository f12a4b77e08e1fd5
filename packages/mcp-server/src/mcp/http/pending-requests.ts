import type { ServerResponse } from "node:http";
import type { RequestId } from "@modelcontextprotocol/sdk/types.js";
import type { StoredStream } from "./event-store.ts";

/** The requests of one POST, and the connection that carries their answers. */
export type RequestBatch = {
  /** The requests without an answer yet */
  readonly waiting: Set<RequestId>;
  /** The connection that carries the answers, another one after a reconnect; `undefined` when all are sent */
  response: ServerResponse | undefined;
  /** `undefined` until an event was written to it */
  stream: StoredStream | undefined;
  /** `true` if the server has received the requests */
  isTaken: boolean;
  /** Called when no request waits any more */
  readonly onSettled: () => void;
  /** Called when all answers were written to an open connection */
  readonly onWritten: (() => void)[];
};

/** The pending requests of a session. */
export type PendingRequests = {
  /** Adds the requests of a POST; `undefined` if one has the id of a pending request. */
  readonly begin: (
    ids: readonly RequestId[],
    response: ServerResponse,
    onSettled?: () => void,
  ) => RequestBatch | undefined;
  readonly find: (id: RequestId) => RequestBatch | undefined;
  /** Removes a request that was answered or cancelled. */
  readonly settle: (id: RequestId) => RequestBatch | undefined;
  readonly count: () => number;
};

export function createPendingRequests(): PendingRequests {
  const byId = new Map<RequestId, RequestBatch>();
  return {
    begin(ids, response, onSettled = () => undefined) {
      if (ids.some((id) => byId.has(id)) || new Set(ids).size < ids.length) return undefined;
      const waiting = new Set(ids);
      const batch: RequestBatch = { waiting, response, stream: undefined, isTaken: false, onSettled, onWritten: [] };
      for (const id of ids) byId.set(id, batch);
      return batch;
    },
    find: (id) => byId.get(id),
    settle(id) {
      const batch = byId.get(id);
      if (batch === undefined) return undefined;
      byId.delete(id);
      batch.waiting.delete(id);
      if (batch.waiting.size > 0) return batch;
      // The stream is kept for long, and would keep the much larger connection in memory.
      batch.response = undefined;
      batch.onSettled();
      if (batch.stream !== undefined) batch.stream.isEnded = true;
      return batch;
    },
    count: () => byId.size,
  };
}
