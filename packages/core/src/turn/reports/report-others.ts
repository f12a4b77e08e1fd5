import { isWithin } from "../../policy/is-within.ts";
import type { Step, Turn } from "../turn.ts";

// The report of one turn must stay small, however many calls a client makes.
const MOST_REPORTED = 20;

/**
 * Reports the turns that ran in the same directory at the same time, or in one around or below it, if one of the two may write there. Knows
 * the turns of this process alone.
 */
export function reportOthers(): Step {
  const running = new Set<Turn>();
  return async (turn, next) => {
    // An agent that runs elsewhere does not get the directory.
    if (turn.route.runner.isolation === "remote") return next();
    for (const other of running) {
      if (!mayCollide(turn, other)) continue;
      note(turn, other);
      note(other, turn);
    }
    running.add(turn);
    try {
      return await next();
    } finally {
      running.delete(turn);
      const { others = [] } = turn.report;
      if (others.length > 0) turn.warn(formatWarning(others.map(({ agent }) => agent)));
    }
  };
}

function mayCollide(turn: Turn, other: Turn): boolean {
  const [one, two] = [turn.request, other.request];
  const overlap = isWithin(one.directory, two.directory) || isWithin(two.directory, one.directory);
  return overlap && (turn.mayWrite || other.mayWrite);
}

function note(turn: Turn, { id, request }: Turn): void {
  const others = turn.report.others ?? [];
  if (others.length < MOST_REPORTED) turn.report.others = [...others, { runId: id, agent: request.agent.name }];
}

function formatWarning(agents: readonly string[]): string {
  const names = [...new Set(agents)].map((name) => `"${name}"`).join(", ");
  return (
    `Other turns ran in this directory, or in one around or below it, at the same time: of ${names}. ` +
    `One may have changed what another had read: look at the files that both touched.`
  );
}
