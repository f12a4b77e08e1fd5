import { findSilencedHooks } from "../../agents/agent-hook.ts";
import { formatCount } from "../../text/truncate-text.ts";
import type { Session } from "../../sessions/session.ts";
import type { Step, Turn } from "../turn.ts";

/** Puts what the caller should know about the agent's surroundings before the answer's own warnings. */
export function addNotices(): Step {
  const toldOfContext = new WeakSet<Session>();
  const toldOfGit = new WeakMap<Session, string | undefined>();

  /** Lists the notice about git, unless the session's last turn had the same. */
  function listGitNotices({ git: { notice }, session }: Turn): readonly string[] {
    const isTold = toldOfGit.get(session) === notice;
    toldOfGit.set(session, notice);
    return notice === undefined || isTold ? [] : [notice];
  }

  /** Lists the notice about a context that is nearly full, once until the program has made room. */
  function listContextNotices({ report: { usage = {} }, session }: Turn): readonly string[] {
    const { contextSize = 0, contextUsed = 0 } = usage;
    const isFull = contextSize > 0 && contextUsed >= contextSize * FULL_SHARE;
    const isTold = toldOfContext.has(session);
    if (!isFull) toldOfContext.delete(session);
    if (!isFull || isTold) return [];
    toldOfContext.add(session);
    return [formatContextNotice(contextUsed, contextSize)];
  }

  return async (turn, next) => {
    const { notices: ofRunner } = turn.route.runner;
    const notices = [...(await findHooks(turn)), ...ofRunner, ...listEgressNotices(turn), ...listGitNotices(turn)];
    const answer = await next();
    turn.warn(...notices, ...listContextNotices(turn), ...answer.warnings);
    return answer;
  };
}

// From here on, each turn sends nearly a whole context to the model.
const FULL_SHARE = 0.8;

function formatContextNotice(used: number, size: number): string {
  const share = Math.min(Math.floor((used / size) * 100), 100);
  return `The session's context is ${share} % full (${formatCount(used)} of ${formatCount(size)} tokens), so that each further turn costs more. Begin a new session for the next task.`;
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
