import type { ClientTransport, Fate } from "./client-transport.ts";
import { CancelledNotificationSchema, type JSONRPCMessage, type RequestId } from "@modelcontextprotocol/sdk/types.js";

/** What is told of one answer. */
type FollowedAnswer = {
  /** Says that it was written, unless the client had given it up. */
  readonly delivered: () => void;
};

/** The answers whose fate somebody wants to know. */
export type FollowedAnswers = {
  readonly follow: (...asked: Parameters<ClientTransport["follow"]>) => FollowedAnswer;
  readonly find: (request: RequestId) => FollowedAnswer | undefined;
  /** Notes that the client cancelled a request, which may cross with its answer. */
  readonly drop: (request: RequestId) => void;
};

const MOST_FOLLOWED = 100;
// A cancellation that crosses with its response comes soon after. Later ones are of clients that keep one signal for all they
// do, or that do not take a time limit back: they have the answer.
const CROSSING_MS = 5_000;

export function createFollowedAnswers(): FollowedAnswers {
  const followed = new Map<RequestId, FollowedAnswer & { readonly drop: () => void }>();
  return {
    follow(request, tell: (fate: Fate) => void) {
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
      followed.set(request, answer);
      const [oldest] = followed.keys();
      if (followed.size > MOST_FOLLOWED && oldest !== undefined) followed.delete(oldest);
      return answer;
    },
    find: (request) => followed.get(request),
    drop: (request) => followed.get(request)?.drop(),
  };
}

/** The request that a message cancels; `undefined` of any other message. */
export function toCancelledRequest(message: JSONRPCMessage): RequestId | undefined {
  return CancelledNotificationSchema.safeParse(message).data?.params.requestId;
}
