import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { buildLongCallTools } from "../../../src/mcp/long-calls/build-long-call-tools.ts";
import type { CallHooks, ClientTools } from "../../../src/mcp/calls/client-tools.ts";
import { Turn } from "@budgie/core/turn";
import { createLongCalls } from "../../../src/mcp/long-calls/long-calls.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

const DEADLINE_MS = 50_000;

describe("createLongCalls", () => {
  it("hides a client's runs from all others", async () => {
    const [mine, yours] = [create(), create()];
    const { runId } = await mine.callLong();

    const results = await Promise.all([
      mine.use("status", { runId }),
      ...(["wait", "status", "cancel"] as const).map((tool) => yours.use(tool, { runId })),
      yours.use("status", {}),
    ]);

    expect(results[0]?.structuredContent).toMatchObject({ runs: [{ runId, status: "running" }] });
    for (const result of results.slice(1, 4))
      expect(result?.structuredContent).toMatchObject({ code: "RUN_NOT_FOUND" });
    expect(results[4]?.structuredContent).toEqual({ runs: [] });
    expect(mine.signals.map(({ aborted }) => aborted)).toEqual([false]);
  });

  it("forgets a run whose call returned its answer", async () => {
    const { end, clientTools, use } = create();
    const call = clientTools.call("agent", {}, {});
    end(ANSWER);

    expect(await call).toEqual(ANSWER);
    expect((await use("status", {})).structuredContent).toEqual({ runs: [] });
    expect(vi.getTimerCount()).toBe(0);
  });

  it("does not stop a run if its call is cancelled after its answer", async () => {
    const { callLong, end, signals, use } = create();
    const request = new AbortController();
    const { runId } = await callLong({ signal: request.signal });
    request.abort();

    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
    end(ANSWER);
    expect(await use("wait", { runId })).toEqual(ANSWER);
  });

  it("stops a run if the client dropped the `running` answer, but not if it dropped a result of wait", async () => {
    const { callLong, signals, use } = create();
    const drops: (() => void)[] = [];
    const ifDropped = (then: () => void): void => void drops.push(then);
    const { runId } = await callLong({ ifDropped });
    const waiting = use("wait", { runId }, { ifDropped });
    vi.advanceTimersByTime(DEADLINE_MS);
    await waiting;

    expect([drops.length, signals[0]?.aborted]).toEqual([1, false]);
    drops[0]?.();
    expect(signals[0]?.aborted).toBe(true);
  });

  it("answers a wait with the end of its run if all is stopped meanwhile", async () => {
    const { callLong, clientTools, end, use } = create();
    const { runId } = await callLong();
    const request = new AbortController();
    const waiting = use("wait", { runId }, { signal: request.signal });

    clientTools.stop();
    request.abort();
    end(CANCELLED);

    expect(await waiting).toEqual(CANCELLED);
  });

  it("answers cancel after a timeout if the run has not ended", async () => {
    const { callLong, signals, use } = create();
    const { runId } = await callLong();

    const cancelling = use("cancel", { runId });
    await Promise.resolve();
    vi.advanceTimersByTime(DEADLINE_MS);

    expect((await cancelling).structuredContent).toMatchObject({ status: "running", stopping: true, runId });
    expect(signals[0]?.aborted).toBe(true);
  });

  it("returns with a cancellation the report of the run, such as changed executable files", async () => {
    const { callLong, end, use } = create();
    const { runId } = await callLong();
    const facts = { changedExecutablePaths: [".git/hooks/pre-commit"], sessionId: "s" };
    const failure = { type: "text", text: "CANCELLED: It was. Files were changed: .git/hooks/pre-commit." } as const;

    const cancelling = use("cancel", { runId });
    end({ isError: true, content: [failure], structuredContent: { code: "CANCELLED", message: "It was.", ...facts } });
    const { content, isError, structuredContent } = await cancelling;

    expect(isError).toBeUndefined();
    expect(structuredContent).toEqual({ status: "cancelled", runId, agent: "reader", ...facts });
    expect(content).toEqual([{ type: "text", text: expect.stringContaining("was stopped") }, failure]);
  });

  it("reports a bug in a run that no caller waits for", async () => {
    const { callLong, fail, reported, use } = create();
    const { runId } = await callLong();

    fail(new Error("A bug of ours"));
    await new Promise((resolve) => setImmediate(resolve));

    expect(reported).toEqual([expect.stringContaining("A bug of ours")]);
    expect((await use("wait", { runId })).structuredContent).toMatchObject({ code: "RUN_NOT_FOUND" });
  });

  it("stops continuing runs on close, which resolves when they have ended", async () => {
    const { callLong, end, signals, clientTools } = create();
    await callLong();
    let isClosed = false;

    clientTools.stop();
    const closing = clientTools.close().then(() => (isClosed = true));
    await new Promise((resolve) => setImmediate(resolve));

    expect([signals[0]?.aborted, isClosed]).toEqual([true, false]);
    end(ANSWER);
    await closing;
  });

  it("answers a call of several turns at the deadline too, and hands its cancellation on until then", async () => {
    const { longCalls } = create();
    const request = new AbortController();
    const heeded: (AbortSignal | undefined)[] = [];
    const [early, long] = [1, 2].map(() => {
      const call = longCalls.begin("invoke_parallel", {});
      if (call === undefined) throw new Error("There is a deadline.");
      const working = longCalls.runInTime({ ...call.hooks, signal: request.signal }, (signal) => {
        heeded.push(signal);
        return new Promise<CallToolResult>((resolve) => signal?.addEventListener("abort", () => resolve(CANCELLED)));
      });
      return { answered: call.answer(working), runId: call.hooks.runId };
    });
    vi.advanceTimersByTime(DEADLINE_MS);
    expect((await long?.answered)?.structuredContent).toMatchObject({ status: "running", runId: long?.runId });
    request.abort();
    expect(heeded.map((signal) => signal?.aborted)).toEqual([false, false]);

    await longCalls.call("cancel", { runId: early?.runId }, {});
    expect(heeded.map((signal) => signal?.aborted)).toEqual([true, false]);
    const late = longCalls.begin("invoke_parallel", {});
    const stopped = longCalls.runInTime({ ...late?.hooks, signal: request.signal }, async (signal) => signal?.aborted);
    expect(await stopped).toBe(true);
  });

  it("has three tools", () => {
    const { longCalls } = create();

    expect(longCalls.call("nobody", {}, {})).toBeUndefined();
    expect(longCalls.definitions().map(({ name }) => name)).toEqual(["wait", "status", "cancel"]);
  });

  it("has no tools, and begins no call, for a client without a deadline", () => {
    const { longCalls } = create(() => undefined);

    expect(longCalls.definitions()).toEqual([]);
    expect(longCalls.call("wait", { runId: "r" }, {})).toBeUndefined();
    expect(longCalls.begin("agent", {})).toBeUndefined();
  });
});

const ANSWER: CallToolResult = { content: [{ type: "text", text: "done" }], structuredContent: { status: "done" } };

const CANCELLED: CallToolResult = { isError: true, content: [], structuredContent: { code: "CANCELLED" } };

/** Creates the tools of a client whose one agent finishes when the test says so. */
function create(deadlineMs: () => number | undefined = () => DEADLINE_MS) {
  const signals: AbortSignal[] = [];
  const reported: string[] = [];
  let end: (result: CallToolResult) => void = () => undefined;
  let fail: (error: Error) => void = () => undefined;
  const longCalls = createLongCalls({
    deadlineMs,
    tools: buildLongCallTools({ toolPrefix: "", toolNames: "dotted", tools: "router" }),
    report: (line) => void reported.push(line),
  });
  const clientTools: Pick<ClientTools, "call" | "close" | "stop"> = {
    ...longCalls,
    call(name, input, hooks) {
      if (name !== "agent") return longCalls.call(name, input, hooks);
      const call = longCalls.begin(name, hooks);
      if (call === undefined) throw new Error("There is a deadline.");
      const turn = new Turn({ agent: "reader", prompt: "x", directory: "/" }, { ...hooks, ...call.hooks });
      const result = new Promise<CallToolResult>((resolve, reject) => ([end, fail] = [resolve, reject]));
      // The step hands on what comes from behind it.
      const answered = longCalls.step(turn, () => result as Promise<never>) as Promise<never>;
      if (turn.signal !== undefined) signals.push(turn.signal);
      const { events, id: runId } = turn;
      events.emit("phase", { agent: "reader", runId, sessionId: undefined, sinceMs: 0, phase: "starting" });
      return call.answer(answered);
    },
  };

  async function use(name: string, input: unknown, hooks: CallHooks = {}): Promise<CallToolResult> {
    const call = clientTools.call(name, input, hooks);
    if (call === undefined) throw new Error(`There is no tool ${name}.`);
    return call;
  }

  async function callLong(hooks: CallHooks = {}): Promise<{ readonly runId: string }> {
    const call = use("agent", {}, hooks);
    vi.advanceTimersByTime(DEADLINE_MS);
    return (await call).structuredContent as { readonly runId: string };
  }

  return {
    longCalls,
    clientTools,
    signals,
    reported,
    end: (result: CallToolResult) => end(result),
    fail: (error: Error) => fail(error),
    use,
    callLong,
  };
}
