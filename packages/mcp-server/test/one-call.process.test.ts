import type { ClientRequest } from "node:http";
import { beforeAll, describe, expect, it } from "vitest";
import { createBudgieUser } from "./helpers/start-budgie.ts";
import { createStartingEngine } from "./helpers/starting-engine.ts";
import { traceCall, type Trace } from "./helpers/trace-call.ts";

// A reader follows a call from file to file, so its path is bounded (ADR 16; naming the harness added two files, ADR 25). An earlier call has
// loaded the modules.
const MOST_FILES = 64;
const MOST_FRAMES = 20;

// These poll every second or so, with or without a call.
const TIMERS: readonly string[] = ["mcp-server agents/agent-poll.ts", "mcp-server process/watch-parent.ts"];

describe("a sandboxed call that begins a session, up to the start of its container", () => {
  let first: Trace;
  let second: Trace;
  beforeAll(async () => {
    await using engine = await createStartingEngine();
    await using user = await createBudgieUser();
    // The start of a container that is made ahead belongs to no call.
    const { ask } = await user.serve({ sandbox: true, env: { ...engine.hostEnv, BUDGIE_AHEAD: "0" } });
    const call = () => ask("code-reviewer", { prompt: "Hello" });
    const isStart = ({ path }: ClientRequest) => engine.startsTurn(path);
    await call();
    first = await traceCall(call, isStart);
    second = await traceCall(call, isStart);
  }, 60_000);

  it("is traced back to the MCP handler", () => {
    for (const { frames } of [first, second]) {
      expect(frames[0]).toMatch(/^runner-docker turn\/start-turn\.ts: /);
      expect(frames.at(-1)).toMatch(/^mcp-server mcp\/connection\/connection\.ts: /);
    }
  });

  it(`waits in at most ${MOST_FILES} files`, () => {
    const waits = toCommon(first.waits, second.waits);

    expect(waits.length, waits.join("\n")).toBeLessThanOrEqual(MOST_FILES);
  });

  it(`has at most ${MOST_FRAMES} asynchronous frames`, () => {
    for (const { frames } of [first, second]) expect(frames.length, frames.join("\n")).toBeLessThanOrEqual(MOST_FRAMES);
  });
});

/** Lists the files of both calls. A rare timer fires during one of them at most. */
function toCommon(first: readonly string[], second: readonly string[]): readonly string[] {
  return first.filter((file) => second.includes(file) && !TIMERS.includes(file));
}
