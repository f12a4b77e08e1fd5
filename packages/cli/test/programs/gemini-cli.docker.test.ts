import { setTimeout as sleep } from "node:timers/promises";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { createFakeLlm } from "@budgie/testkit";
import { describe, expect, it } from "vitest";
import { createBudgieUser, toText } from "../helpers/start-budgie.ts";
import { createContainerPlace } from "./container-place.ts";
import { describeProgram } from "./describe-program.ts";
import { PROGRAMS, type Program } from "./programs.ts";

const GEMINI = PROGRAMS["Gemini CLI"];

describeProgram("Gemini CLI", GEMINI);

// It destroys a conversation that is loaded in the clock minute of its begin (gemini-cli#28693).
// Each test waits for minutes to pass, so both wait at once.
describe.concurrent("Gemini CLI, asked twice within a minute", { timeout: 300_000 }, () => {
  it("remembers, since budgie loads the conversation in the next minute", async () => {
    const { isInOneMinute, second } = await askTwice(GEMINI);

    expect(second.structuredContent, toText(second)).toMatchObject({ response: "token-parrot\ntoken-macaw" });
    expect(isInOneMinute).toBe(false);
  });

  it("has lost it, if budgie does not know the program and loads it at once", async () => {
    const script = `${GEMINI.script.replace("exec ", "")} | sed -u 's/"name":"gemini-cli"/"name":"unknown"/'`;

    let asked = await askTwice({ ...GEMINI, script });
    // A slow machine may have missed the minute.
    while (!asked.isInOneMinute) asked = await askTwice({ ...GEMINI, script });

    const { second } = asked;
    expect(second.isError).toBe(true);
    expect(toText(second)).toMatch(/Invalid session identifier|No previous sessions found/);
  });
});

const MINUTE_MS = 60_000;

type Asked = {
  readonly second: CallToolResult;
  /** True if the second answer came in the minute of the first question */
  readonly isInOneMinute: boolean;
};

/** Asks in a session, and again, of another process, in the same minute. */
async function askTwice(program: Program): Promise<Asked> {
  await using llm = await createFakeLlm();
  await using user = await createBudgieUser();
  const place = await createContainerPlace(program, llm);
  const { ask } = await place.serve(user, { program, facts: {}, args: ["--warm-idle", "0", "--retry", "never"] });
  await untilEarly();
  const begun = toMinute();
  const first = await ask("coder", { prompt: "Remember token-parrot. [[say: I do.]]" });
  expect(first.structuredContent, toText(first)).toMatchObject({ response: "I do." });
  const sessionId = first.structuredContent?.["sessionId"];
  const second = await ask("coder", { sessionId, prompt: "Remember token-macaw. [[recall]]" });
  return { second, isInOneMinute: toMinute() === begun };
}

function toMinute(): number {
  return Math.floor(Date.now() / MINUTE_MS);
}

// Enough of a minute for two turns on a slow machine.
const LEFT_MS = 50_000;

/** Waits for the next minute if little of this one is left. */
async function untilEarly(): Promise<void> {
  const leftMs = MINUTE_MS - (Date.now() % MINUTE_MS);
  if (leftMs < LEFT_MS) await sleep(leftMs);
}
