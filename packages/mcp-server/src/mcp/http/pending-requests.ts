import type { ServerResponse } from "node:http";
import type { RequestId } from "@modelcontextprotocol/sdk/types.js";
import type { StoredStream } from "./event-store.ts";

/** What was asked in one POST, and where its answers go. */
export type RequestBatch = {
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
export type PendingRequests = {
  /** `undefined` if a request has the id of one that waits: their answers could not be told apart */
  readonly begin: (ids: readonly RequestId[], response: ServerResponse) => RequestBatch | undefined;
  readonly find: (id: RequestId) => RequestBatch | undefined;
  /** Notes that a request has its answer, or needs none. */
  readonly settle: (id: RequestId) => RequestBatch | undefined;
  readonly count: () => number;
};

export function createPendingRequests(): PendingRequests {
  const byId = new Map<RequestId, RequestBatch>();
  return {
    begin(ids, response) {
      if (ids.some((id) => byId.has(id)) || new Set(ids).size < ids.length) return undefined;
      const waiting = new Set(ids);
      const batch: RequestBatch = { waiting, response, stream: undefined, isTaken: false, onWritten: [] };
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
      // Its stream is kept for long, and a connection is a hundred times as large.
      batch.response = undefined;
      if (batch.stream !== undefined) batch.stream.isEnded = true;
      return batch;
    },
    count: () => byId.size,
  };
}
