import { describe, expect, it } from "vitest";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { beginClientRun, type ClientRun } from "../../../src/mcp/long-calls/client-run.ts";
import { createClientRuns, type ClientRuns } from "../../../src/mcp/long-calls/client-runs.ts";

describe("createClientRuns", () => {
  it("keeps the last 64 results, and all continuing runs", async () => {
    const runs = createClientRuns();
    const going = keep(runs, new Promise(() => undefined));
    const ended = await keepAll(
      runs,
      Array.from({ length: 70 }, (_, number) => toResult(`answer ${number}`)),
    );

    expect(ended.map((run) => isKept(runs, run))).toEqual(ended.map((_, index) => index >= 6));
    expect(isKept(runs, going)).toBe(true);
  });

  it("keeps at most 16 MiB of results, and the last one of any size", async () => {
    const runs = createClientRuns();
    const megabyte = "x".repeat(1024 ** 2);
    const small = await keepAll(
      runs,
      Array.from({ length: 16 }, () => toResult(megabyte)),
    );
    const before = small.map((run) => isKept(runs, run));
    const [large] = await keepAll(runs, [toResult(megabyte.repeat(20))]);

    // Each result is a little larger than its text.
    expect(before).toEqual(small.map((_, index) => index > 0));
    expect(small.some((run) => isKept(runs, run))).toBe(false);
    expect(large && isKept(runs, large)).toBe(true);
  });

  it("forgets a run that ended in a bug", async () => {
    const runs = createClientRuns();
    const run = keep(runs, Promise.reject(new Error("A bug")));
    await Promise.allSettled([run.result]);
    await new Promise((resolve) => setImmediate(resolve));

    expect(isKept(runs, run)).toBe(false);
  });

  it("truncates an unknown id to the length of an id", () => {
    expect(() => createClientRuns().find(`\u001B${"x".repeat(1000)}`)).toThrow(/^You have no run "\?x{49}" that/);
  });
});

function keep(runs: ClientRuns, result: Promise<CallToolResult>): ClientRun {
  const run = beginClientRun("tool");
  run.settle(result);
  runs.add(run);
  runs.keep(run);
  return run;
}

async function keepAll(runs: ClientRuns, results: readonly CallToolResult[]): Promise<readonly ClientRun[]> {
  const kept: ClientRun[] = [];
  for (const result of results) {
    const run = keep(runs, Promise.resolve(result));
    await run.result;
    await new Promise((resolve) => setImmediate(resolve));
    kept.push(run);
  }
  return kept;
}

function isKept(runs: ClientRuns, run: ClientRun): boolean {
  return runs.list().includes(run);
}

function toResult(text: string): CallToolResult {
  return { content: [{ type: "text", text }] };
}
