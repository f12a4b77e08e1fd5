import { BudgieError } from "../../errors.ts";
import { usesCopy } from "../../workspace-access.ts";
import type { TurnSettings } from "../turn-settings.ts";
import type { Step, Turn } from "../turn.ts";

/** Fills the session's copy of the directory before an agent works on it, and has its changes collected afterwards. */
export function copyWorkspace({ copies }: Pick<TurnSettings, "copies">): Step {
  return async (turn, next) => {
    const { request, route, session } = turn;
    // An agent that runs elsewhere gets nothing of the directory.
    if (!usesCopy(request.policy.workspace) || route.runner.isolation === "remote") return next();
    const copy = session.home.copy?.();
    if (copies === undefined || copy === undefined) {
      throw withoutCopies(turn.asked.sharedBase === undefined ? "rw" : "ro");
    }
    const facts = {
      sessionId: session.id,
      runId: turn.id,
      agent: session.agent,
      directory: session.directory,
      git: turn.git.folders,
      sharedBase: turn.asked.sharedBase,
      refresh: turn.asked.refresh,
      signal: turn.signal,
      onProgress: (text: string) => turn.enter({ phase: "starting", doing: text }),
    };
    const report = await copies.prepare(copy, facts);
    turn.report.copy = report;
    const collect = async (): Promise<void> => {
      if (!mayHaveChanged(turn)) return;
      const changes = await copies.collect(copy, facts);
      if (changes !== undefined) turn.report.copy = { ...report, changes };
    };
    const answer = await next().catch(async (error: unknown) => {
      // The failure matters more than what it leaves.
      await collect().catch(() => undefined);
      throw error;
    });
    await collect();
    return answer;
  };
}

function mayHaveChanged({ processes, request }: Turn): boolean {
  return request.policy.workspace === "copy" && processes.length > 0;
}

function withoutCopies(instead: "ro" | "rw"): BudgieError {
  return new BudgieError(
    "INPUT_INVALID",
    `There is no copy of the directory to work on: copies need a sandbox. Run budgie so, or ask with "workspace" as "${instead}".`,
  );
}
