import { writeFileSync } from "node:fs";
import type { ClientRequest } from "node:http";
import { beforeAll, describe, expect, it } from "vitest";
import { STEPS } from "@budgie/core/turn";
import { createBudgieUser } from "./helpers/start-budgie.ts";
import { createStartingEngine } from "./helpers/starting-engine.ts";
import { traceCall, type Trace } from "./helpers/trace-call.ts";

// A reader who knows the list of steps has these functions left to follow (ADR 30).
const MOST_OTHER_FRAMES = 12;

// The steps that the server adds to the list.
const OF_SERVER = ["live/live-runs.ts", "mcp/long-calls/answer-in-time.ts", "serving/serve-mcp-servers.ts"];

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
    const { BUDGIE_TEST_FRAMES_FILE: report } = process.env;
    if (report !== undefined) writeFileSync(report, JSON.stringify(second));
  }, 60_000);

  it("is traced back to the MCP handler", () => {
    for (const { frames } of [first, second]) {
      expect(frames[0]).toMatch(/^runner-docker turn\/launch-sandbox\.ts: /);
      expect(frames.at(-1)).toMatch(/^mcp-server mcp\/connection\/connection\.ts: /);
    }
  });

  it("goes through the steps of the list, in their order", () => {
    const files = second.frames.flatMap(
      (frame) => /^core turn\/(?:steps|reports)\/([a-z-]+)\.ts/.exec(frame)?.[1] ?? [],
    );
    const names = files.map((file) => file.replaceAll(/-./g, ([, letter = ""]) => letter.toUpperCase())).toReversed();

    const ofCore = Object.keys(STEPS).filter((name) => !["callerSteps", "agentSteps"].includes(name));
    expect([...new Set(names)]).toEqual(ofCore);
  });

  it(`has at most ${MOST_OTHER_FRAMES} asynchronous frames that are no steps`, () => {
    for (const { frames } of [first, second]) {
      const others = frames.filter((frame) => !isStep(frame));
      expect(others.length, others.join("\n")).toBeLessThanOrEqual(MOST_OTHER_FRAMES);
    }
  });
});

/** Tells whether a frame is a step, which has no name of its own. */
function isStep(frame: string): boolean {
  const [, file = "", name = ""] = /^\S+ ([^:]+): (\w*) at /.exec(frame) ?? [];
  const isOfList = /^turn\/(?:(?:steps|reports)\/|run\/walk-steps)/.test(file);
  return name === "" && (isOfList || OF_SERVER.includes(file));
}
