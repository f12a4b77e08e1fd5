import type { Agent } from "../../agents/agent.ts";
import { createKeyedOrder } from "../../queue/keyed-order.ts";
import type { Session } from "../../sessions/session.ts";
import { checkCall } from "../check-call.ts";
import type { CheckedRequest, TurnRequest } from "../turn-request.ts";
import { subjectOf, type TurnSettings } from "../turn-settings.ts";
import type { Route, Step } from "../turn.ts";

type Found = {
  readonly request: CheckedRequest;
  readonly session: PromiseSettledResult<Session> | undefined;
};

/** Checks what the call asks for, and finds the session that it names. A session's calls pass this step in the order in which they were made. */
export function checkRequest(settings: TurnSettings): Step {
  const inCallOrder = createKeyedOrder();

  async function find(asked: TurnRequest): Promise<Found> {
    const request = await checkCall(asked, settings);
    const { sessionId } = request;
    if (sessionId === undefined) return { request, session: undefined };
    const [session] = await Promise.allSettled([settings.sessions.find(sessionId, subjectOf(request))]);
    return { request, session };
  }

  return async (turn, next) => {
    const { request, session } = await inCallOrder(turn.asked.sessionId, find(turn.asked));
    turn.request = request;
    turn.found = session;
    turn.route = findRoute(request.agent, settings);
    return next();
  };
}

function findRoute({ name, program, remote }: Agent, settings: TurnSettings): Route {
  const { acp, protocol, runner } = settings;
  if (remote === undefined) return { runner, protocol: program === undefined ? protocol : acp };
  if (settings.remote !== undefined) return settings.remote;
  throw new TypeError(`The agent "${name}" runs elsewhere, and nothing here can call it.`);
}
