import { join } from "node:path";
import type { Runner, RunnerSession } from "@budgie/core";
import { createLocalRunner } from "../../../runner-local/src/local-runner.ts";
import type { Target } from "../../src/lab/target.ts";

/** The runner without a sandbox as a target. It drops what it cannot enforce, so that an agent starts at all. */
export const NO_SANDBOX: Target = {
  hasProxy: false,
  async createRunner({ owner, stateDir }) {
    const runner = createLocalRunner({
      sessionsDir: join(stateDir, "sessions"),
      stateDir,
      owner,
      hostEnv: process.env,
    });
    return withCarelessSessions(runner);
  },
};

function withCarelessSessions(runner: Runner): Runner {
  return { ...runner, openSession: async (...given) => makeCareless(await runner.openSession(...given)) };
}

/** Begins in the workspace, and has the session's home in place of the user's. */
function makeCareless(session: RunnerSession): RunnerSession {
  return {
    ...session,
    start({ argv, env, ...command }, { directory, input, signal }) {
      const { home, workspace } = session.paths(directory);
      const inWorkspace = ["/bin/sh", "-c", 'cd "$0" && exec "$@"', workspace, ...argv] as const;
      return session.start(
        { ...command, argv: inWorkspace, env: { ...env, HOME: home } },
        { directory, input, signal },
      );
    },
  };
}
