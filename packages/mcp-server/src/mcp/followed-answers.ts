import type { RequestId } from "@modelcontextprotocol/sdk/types.js";
import type { ClientTransport, Fate } from "./client-transport.ts";

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

// A cancellation that crosses with its response comes soon after.
const MOST_FOLLOWED = 100;

export function createFollowedAnswers(): FollowedAnswers {
  const followed = new Map<RequestId, FollowedAnswer & { readonly drop: () => void }>();
  return {
    follow(request, tell: (fate: Fate) => void) {
      let isDropped = false;
      const answer = {
        delivered() {
          if (!isDropped) tell("delivered");
        },
        drop() {
          if (!isDropped) tell("dropped");
          isDropped = true;
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
