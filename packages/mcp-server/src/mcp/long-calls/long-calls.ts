import { once } from "node:events";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import type { Step } from "@budgie/core/turn";
import { findTool } from "../names/find-tool.ts";
import { beginClientRun, type ClientRun } from "./client-run.ts";
import { createClientRuns } from "./client-runs.ts";
import { cancelInput, statusInput, waitInput, type LongCallTool } from "./build-long-call-tools.ts";
import { toCancelledResult, findEnd, toRunningResult, toStatusResult, toStoppingResult } from "./to-running-result.ts";
import { answerInTime, createRunInTime, type RunInTime } from "./answer-in-time.ts";
import { parseToolInput } from "../tools/parse-tool-input.ts";
import { toErrorResult } from "../calls/to-reply-result.ts";
import type { CallHooks, ClientTools, StartedCall } from "../calls/client-tools.ts";

export type LongCallOptions = {
  /** Returns the soft deadline of the client in milliseconds; `undefined` if there is none. */
  readonly deadlineMs: () => number | undefined;
  readonly tools: readonly LongCallTool[];
  readonly report: (line: string) => void;
};

/** The tools `wait`, `status` and `cancel` of a client, for turns that outlast their calls. Such a run belongs to its client alone. */
export type LongCalls = ClientTools & {
  /** Tells a call when to answer */
  readonly step: Step;
  /** Does the same for a call that runs several turns */
  readonly runInTime: RunInTime;
  /** Begins a call that is answered at the soft deadline even if its turn has not ended; `undefined` without a deadline. */
  readonly begin: (tool: string, hooks: CallHooks) => StartedCall | undefined;
};

/** Creates the long calls of a client. */
export function createLongCalls({ deadlineMs, report, tools }: LongCallOptions): LongCalls {
  const runs = createClientRuns();
  const names = namesOf(tools);
  const runInTime = createRunInTime({ find: runs.get, deadlineMs });
  let isStopped = false;

  async function answer(run: ClientRun, ifDropped: CallHooks["ifDropped"]): Promise<CallToolResult> {
    let isLong = false;
    const late = once(run.events, "late").then(([limitMs]) => Number(limitMs));
    try {
      const first = await Promise.race([run.result, late]);
      if (typeof first !== "number") return first;
      isLong = true;
      runs.keep(run);
      run.result.catch((error: unknown) => report(String(error instanceof Error ? error.stack : error)));
      // A client that cancels before it knows the run id has no other way to stop the run.
      ifDropped?.(run.stop);
      return toRunningResult(run, { names, deadlineMs: first });
    } finally {
      if (!isLong) runs.remove(run);
    }
  }

  async function wait(input: unknown, { events, signal }: CallHooks, limitMs: number): Promise<CallToolResult> {
    const { runId, seconds = Infinity } = parseToolInput(waitInput, input);
    const run = runs.find(runId);
    const unfollow = run.follow(events);
    try {
      const result = await awaitResult(run, Math.min(limitMs, 1000 * seconds), signal);
      return result ?? toRunningResult(run, { names, deadlineMs: limitMs });
    } finally {
      unfollow();
    }
  }

  /** Awaits a run, or its end by `stop`, which ends the waiting too. */
  async function awaitResult({ result }: ClientRun, limitMs: number, signal?: AbortSignal) {
    return (await waitFor(result, limitMs, signal)) ?? (isStopped ? result : undefined);
  }

  async function cancel(input: unknown, { signal }: CallHooks, limitMs: number): Promise<CallToolResult> {
    const run = runs.find(parseToolInput(cancelInput, input).runId);
    run.stop("The client cancelled the run.");
    const result = await awaitResult(run, limitMs, signal);
    if (result === undefined) return toStoppingResult(run, { names });
    return findEnd(result) === "cancelled" ? toCancelledResult(run, result) : result;
  }

  async function status(input: unknown): Promise<CallToolResult> {
    const { runId } = parseToolInput(statusInput, input);
    // Calls without progress run no agent, or have not started one yet.
    const all = runId ? [runs.find(runId)] : runs.list().filter((run) => run.place() !== undefined);
    return toStatusResult(all, { names });
  }

  function follow({ kind }: LongCallTool, input: unknown, on: { hooks: CallHooks; limitMs: number }) {
    switch (kind) {
      case "status":
        return status(input).catch(toErrorResult);
      case "wait":
        return wait(input, on.hooks, on.limitMs).catch(toErrorResult);
      case "cancel":
        return cancel(input, on.hooks, on.limitMs).catch(toErrorResult);
    }
  }

  const stop = (): void => {
    isStopped = true;
    for (const run of runs.list()) run.stop();
  };

  return {
    step: answerInTime(runInTime),
    runInTime,
    begin(tool, { events, ifDropped }) {
      if (deadlineMs() === undefined) return undefined;
      const run = beginClientRun(tool, events);
      runs.add(run);
      return {
        hooks: { runId: run.runId, events: run.events },
        answer(result) {
          run.settle(result);
          return answer(run, ifDropped);
        },
      };
    },
    definitions: () => (deadlineMs() === undefined ? [] : tools.map(({ definition }) => definition)),
    call(name, input, hooks) {
      const limitMs = deadlineMs();
      const own = findTool(tools, name);
      return limitMs === undefined || own === undefined ? undefined : follow(own, input, { hooks, limitMs });
    },
    stop,
    async close() {
      stop();
      await Promise.allSettled(runs.list().map(({ result }) => result));
    },
  };
}

function namesOf(tools: readonly LongCallTool[]) {
  const nameOf = (kind: LongCallTool["kind"]): string =>
    tools.find((tool) => tool.kind === kind)?.definition.name ?? kind;
  return { wait: nameOf("wait"), status: nameOf("status"), cancel: nameOf("cancel") };
}

/** Awaits `work` for at most `limitMs` or until `signal` aborts; then resolves to `undefined`. */
async function waitFor<T>(work: Promise<T>, limitMs: number, signal?: AbortSignal): Promise<T | undefined> {
  if (signal?.aborted === true) return undefined;
  let stop = (): void => undefined;
  const enough = new Promise<undefined>((resolve) => (stop = () => resolve(undefined)));
  const timer = setTimeout(stop, limitMs).unref();
  signal?.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([work, enough]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
  }
}
