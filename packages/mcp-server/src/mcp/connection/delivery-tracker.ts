import type { ClientTransport, DeliveryState } from "./client-transport.ts";
import { CancelledNotificationSchema, type JSONRPCMessage, type RequestId } from "@modelcontextprotocol/sdk/types.js";

/** What is told of one answer. */
type TrackedAnswer = {
  /** Says that it was written, unless the client had given it up. */
  readonly delivered: () => void;
};

/** The answers whose state somebody wants to know. */
export type DeliveryTracker = {
  readonly follow: (...asked: Parameters<ClientTransport["follow"]>) => TrackedAnswer;
  readonly find: (request: RequestId) => TrackedAnswer | undefined;
  /** Notes that the client cancelled a request, which may cross with its answer. */
  readonly drop: (request: RequestId) => void;
};

const MOST_FOLLOWED = 100;
// A cancellation that crosses with its response comes soon after. Later ones are of clients that keep one signal for all they
// do, or that do not take a time limit back: they have the answer.
const CROSSING_MS = 5_000;

export function createDeliveryTracker(): DeliveryTracker {
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
          if (isDropped || performance.now() - deliveredMs > CROSSING_MS) return;
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

/** The request that a message cancels; `undefined` of any other message. */
export function toCancelledRequest(message: JSONRPCMessage): RequestId | undefined {
  return CancelledNotificationSchema.safeParse(message).data?.params.requestId;
}
