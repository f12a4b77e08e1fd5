import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { byName, findTool } from "../names/find-tool.ts";
import { beginClientRun, type ClientRun } from "./client-run.ts";
import { createClientRuns } from "./client-runs.ts";
import { cancelInput, statusInput, waitInput, type LongCallTool } from "./build-long-call-tools.ts";
import { toCancelledResult, findEnd, toRunningResult, toStatusResult, toStoppingResult } from "./to-running-result.ts";
import { parseToolInput } from "../tools/parse-tool-input.ts";
import { toErrorResult } from "../calls/to-reply-result.ts";
import type { CallHooks, ClientTools } from "../calls/client-tools.ts";

export type LongCallOptions = {
  /** Returns the soft deadline of the client in milliseconds; `undefined` if there is none. */
  readonly deadlineMs: () => number | undefined;
  readonly tools: readonly LongCallTool[];
  readonly report: (line: string) => void;
};

/**
 * Wraps a client's tools: a call is answered at the soft deadline even if its agent has not finished. Adds the tools `wait`,
 * `status` and `cancel` for such runs. A run belongs to its client alone.
 */
export function withLongCalls(clientTools: ClientTools, { deadlineMs, report, tools }: LongCallOptions): ClientTools {
  const runs = createClientRuns();
  const names = namesOf(tools);
  let isStopped = false;

  async function answerInTime(run: ClientRun, hooks: CallHooks, limitMs: number): Promise<CallToolResult> {
    const { events, ifDropped, signal } = hooks;
    const stop = (): void => run.stop(signal?.reason);
    const unfollow = run.follow(events);
    signal?.addEventListener("abort", stop, { once: true });
    if (signal?.aborted === true) stop();
    runs.add(run);
    let isLong = false;
    try {
      const result = await waitFor(run.result, limitMs);
      if (result !== undefined) return result;
      isLong = true;
      runs.keep(run);
      run.result.catch((error: unknown) => report(String(error instanceof Error ? error.stack : error)));
      // A client that cancels before it knows the run id has no other way to stop the run.
      ifDropped?.(run.stop);
      return toRunningResult(run, { names, deadlineMs: limitMs });
    } finally {
      if (!isLong) runs.remove(run);
      unfollow();
      signal?.removeEventListener("abort", stop);
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
    definitions() {
      if (deadlineMs() === undefined) return clientTools.definitions();
      const all = [...clientTools.definitions(), ...tools.map(({ definition }) => definition)];
      return all.toSorted(byName);
    },
    call(name, input, hooks) {
      const limitMs = deadlineMs();
      if (limitMs === undefined) return clientTools.call(name, input, hooks);
      const own = findTool(tools, name);
      if (own !== undefined) return follow(own, input, { hooks, limitMs });
      const run = beginClientRun(name, (followed) => clientTools.call(name, input, { ...hooks, ...followed }));
      return run && answerInTime(run, hooks, limitMs);
    },
    stop() {
      clientTools.stop();
      stop();
    },
    async close() {
      stop();
      await Promise.allSettled(runs.list().map(({ result }) => result));
      await clientTools.close();
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
