import { findSilencedHooks } from "../../agents/agent-hook.ts";
import type { Session } from "../../sessions/session.ts";
import type { Step, Turn } from "../turn.ts";

/** Puts what the caller should know about the agent's surroundings before the answer's own warnings. */
export function addNotices(): Step {
  const toldOfGit = new WeakMap<Session, string | undefined>();

  /** Lists the notice about git, unless the session's last turn had the same. */
  function listGitNotices({ git: { notice }, session }: Turn): readonly string[] {
    const isTold = toldOfGit.get(session) === notice;
    toldOfGit.set(session, notice);
    return notice === undefined || isTold ? [] : [notice];
  }

  return async (turn, next) => {
    const { notices: ofRunner } = turn.route.runner;
    const notices = [...(await findHooks(turn)), ...ofRunner, ...listEgressNotices(turn), ...listGitNotices(turn)];
    const answer = await next();
    turn.warn(...notices, ...answer.warnings);
    return answer;
  };
}

async function findHooks({ request: { agent, directory }, route }: Turn): Promise<readonly string[]> {
  return route.runner.isolation === "container" ? findSilencedHooks(agent.hooks ?? [], directory) : [];
}

/** Lists the notices about a policy in a sandbox. Without a sandbox, the runner has its own notices. */
function listEgressNotices({ request: { policy }, route: { runner } }: Turn): readonly string[] {
  return runner.isolation === "container" && policy.egress.mode === "bridge" ? [UNMONITORED] : [];
}

const UNMONITORED =
  'This turn ran with the egress mode "bridge": it could reach all that the engine\'s own network reaches, and its network access was not monitored.';
