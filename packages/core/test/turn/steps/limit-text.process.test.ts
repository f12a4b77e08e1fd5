import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { failureOf } from "@budgie/testkit";
import { DEFAULT_TEXT_LIMITS } from "@budgie/core/turn";
import { createKiroPlace } from "../../../../protocols/test/kiro/kiro-place.ts";

const HIDDEN = "\u{E0041}\u202E\u200B";

describe("invisible text", () => {
  it("reaches no agent", async () => {
    const { calls, runTurn, workspace } = createKiroPlace();

    await runTurn({ agent: "tester", prompt: `Read${HIDDEN}\u0007 this.\r\n`, directory: workspace });

    expect(calls()[0]?.stdin).toContain(`In directory ${workspace}, Read this.\n`);
  });

  it.each(["tester", "reader"])("reaches no caller of the agent %s", async (agent) => {
    const { runTurn, workspace } = createKiroPlace({ env: { ODD: `a${HIDDEN}b` } });

    const { response } = await runTurn({ agent, prompt: "[[env]]", directory: workspace });

    expect(JSON.parse(response)).toMatchObject({ ODD: "ab" });
  });

  it("passes both ways on request", async () => {
    const textLimits = { ...DEFAULT_TEXT_LIMITS, sanitize: false };
    const { runTurn, workspace } = createKiroPlace({ textLimits });

    // The program itself removes tag characters from its prompts.
    const { response } = await runTurn({ agent: "tester", prompt: "[[say: a\u202E\u200Bb]]", directory: workspace });

    expect(response).toBe("a\u202E\u200Bb");
  });
});

describe("an answer over the limit", () => {
  const answer = `${"é".repeat(60_000)}the end`;
  const notice =
    /The answer has 120,007 bytes and was cut after 100,000\. All of it is in "([^"]+)" in the session's home/;

  it.each(["tester", "reader"])("of the agent %s is truncated with a note, and complete in the home", async (agent) => {
    const { runTurn, workspace } = createKiroPlace();

    const { response, warnings } = await runTurn({ agent, prompt: `[[say: ${answer}]]`, directory: workspace });

    const [kept, note = ""] = response.split("\n\n");
    expect(kept).toBe("é".repeat(50_000));
    expect(note).toMatch(notice);
    expect(note).toBe(`[budgie: ${warnings.at(-1)}]`);
    expect(readFileSync(notice.exec(note)?.[1] ?? "", "utf8").trim()).toBe(answer);
  });

  it("can be returned whole", async () => {
    const { runTurn, workspace } = createKiroPlace({ textLimits: { ...DEFAULT_TEXT_LIMITS, maxAnswerBytes: 0 } });

    const reply = await runTurn({ agent: "tester", prompt: `[[say: ${answer}]]`, directory: workspace });

    expect(reply).toMatchObject({ response: answer, warnings: [] });
  });
});

describe("a turn over the rate limit", () => {
  it("starts nothing, and its session can be resumed", async () => {
    const maxTurnsPerMinute = { all: undefined, agents: new Map([["tester", 1]]) };
    const { calls, runTurn, sessionHomes, workspace } = createKiroPlace({ maxTurnsPerMinute });
    const turn = { agent: "tester", prompt: "x", directory: workspace };
    const { sessionId } = await runTurn(turn);

    const failures = [await failureOf(runTurn(turn)), await failureOf(runTurn({ ...turn, sessionId }))];

    expect(failures).toMatchObject([{ code: "RATE_LIMITED" }, { code: "RATE_LIMITED" }]);
    expect(failures.map((failure) => failure.report.sessionId)).toEqual([undefined, sessionId]);
    expect({ calls: calls().length, homes: sessionHomes().length }).toEqual({ calls: 1, homes: 1 });
    expect(await runTurn({ ...turn, agent: "reader" })).toMatchObject({ agent: "reader" });
  });
});
