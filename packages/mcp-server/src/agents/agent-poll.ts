/** Options of {@link createAgentPoll}. */
export type AgentPollOptions = {
  /** Tells whether files have changed since the last `onChange`; called at every interval, so it must be cheap */
  readonly hasChanged: () => boolean;
  /** Applies changes; called once for changes that belong together */
  readonly onChange: () => void;
  readonly report: (line: string) => void;
  /** Default: 2 s */
  readonly intervalMs?: number;
};

/** A poll of the agents' files. */
export type AgentPoll = {
  /** Starts the first interval; nothing is read before it ends. */
  readonly start: () => void;
  readonly close: () => void;
};

const INTERVAL_MS = 2_000;
// Editors truncate, write and rename; a checkout changes many files.
const QUIET_MS = 300;

/** Creates a poll that keeps no process alive and never throws. ADR 12 says why it is not a watch. */
export function createAgentPoll(options: AgentPollOptions): AgentPoll {
  const { hasChanged, intervalMs = INTERVAL_MS, onChange, report } = options;
  let polling: NodeJS.Timeout | undefined;
  let settling: NodeJS.Timeout | undefined;
  let reported: string | undefined;

  function look(): void {
    if (settling === undefined && attempt(hasChanged) === true) settling = setTimeout(settle, QUIET_MS).unref();
  }

  function settle(): void {
    settling = undefined;
    attempt(onChange);
  }

  function attempt<T>(work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      const problem = String(error instanceof Error ? error.stack : error);
      // A bug that recurs at every interval must not fill the log.
      if (problem !== reported) report(`Cannot reload the agents: ${problem}`);
      reported = problem;
      return undefined;
    }
  }

  return {
    start: () => void (polling = setInterval(look, intervalMs).unref()),
    close() {
      clearInterval(polling);
      clearTimeout(settling);
    },
  };
}
