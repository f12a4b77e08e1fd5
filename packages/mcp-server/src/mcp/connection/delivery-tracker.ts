import type { ClientTransport, DeliveryState } from "./client-transport.ts";
import { CancelledNotificationSchema, type JSONRPCMessage, type RequestId } from "@modelcontextprotocol/sdk/types.js";

/** One answer whose delivery is tracked. */
type TrackedAnswer = {
  /** Reports that the answer was written, unless the client cancelled it before. */
  readonly delivered: () => void;
};

/** The answers whose delivery is tracked. */
export type DeliveryTracker = {
  readonly follow: (...asked: Parameters<ClientTransport["follow"]>) => TrackedAnswer;
  readonly find: (request: RequestId) => TrackedAnswer | undefined;
  /** Reports that the client cancelled a request. The cancellation may cross with the answer. */
  readonly drop: (request: RequestId) => void;
};

const MOST_FOLLOWED = 100;

/**
 * Creates a tracker of the last 100 answers. A cancellation that crosses with its answer arrives within `crossingMs` of its last write.
 * A later one comes from a client that has the answer: it reuses one signal, or does not clear its timeout.
 */
export function createDeliveryTracker({ crossingMs }: { readonly crossingMs: number }): DeliveryTracker {
  const tracked = new Map<RequestId, TrackedAnswer & { readonly drop: () => void }>();
  return {
    follow(request, tell: (state: DeliveryState) => void) {
      let isDropped = false;
      let deliveredMs = Infinity;
      const answer = {
        delivered() {
          if (isDropped) return;
          deliveredMs = performance.now();
          tell("delivered");
        },
        drop() {
          if (isDropped || performance.now() - deliveredMs > crossingMs) return;
          isDropped = true;
          tell("dropped");
        },
      };
      tracked.set(request, answer);
      const [oldest] = tracked.keys();
      if (tracked.size > MOST_FOLLOWED && oldest !== undefined) tracked.delete(oldest);
      return answer;
    },
    find: (request) => tracked.get(request),
    drop: (request) => tracked.get(request)?.drop(),
  };
}

/** Returns the id of the request that a message cancels; `undefined` for any other message. */
export function findCancelledRequest(message: JSONRPCMessage): RequestId | undefined {
  return CancelledNotificationSchema.safeParse(message).data?.params.requestId;
}
