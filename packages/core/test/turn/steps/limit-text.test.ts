import { describe, expect, it } from "vitest";
import { BudgieError } from "@budgie/core";
import type { ProtocolAnswer } from "@budgie/core/protocol";
import { DEFAULT_TEXT_LIMITS } from "@budgie/core/turn";
import { failureOf } from "@budgie/testkit";
import { limitText } from "../../../src/turn/steps/limit-text.ts";
import { createTurn } from "../../helpers/create-turn.ts";

const ANSWER: ProtocolAnswer = {
  response: "a\u200Bb",
  file: undefined,
  exit: { exitCode: 0, signal: undefined, reason: undefined, oomKilled: false },
  denied: ["rm\u202E"],
  warnings: ["x\u0007y"],
};

describe("limitText", () => {
  it("cleans everything that an agent may have written", async () => {
    expect(await ask(async () => ANSWER)).toEqual({ ...ANSWER, response: "ab", denied: ["rm"], warnings: ["xy"] });
  });

  it("cleans a failure, which may quote the agent", async () => {
    const failing = () => Promise.reject(new BudgieError("AGENT_CRASHED", "It said: a\u{E0041}b\u009Bm"));

    expect(await failureOf(ask(failing))).toMatchObject({ code: "AGENT_CRASHED", message: "It said: ab" });
  });

  it("treats an answer that is empty after cleaning as none", async () => {
    const failure = await failureOf(ask(async () => ({ ...ANSWER, response: " \u{E0041}\u200B" })));

    expect(failure).toMatchObject({ code: "AGENT_FAILED", message: expect.stringContaining('"tester"') });
  });

  it("passes on a bug unchanged", async () => {
    await expect(ask(() => Promise.reject(new TypeError("a\u200Bb")))).rejects.toThrow("a\u200Bb");
  });
});

async function ask(next: () => Promise<ProtocolAnswer>): Promise<ProtocolAnswer> {
  return limitText({ textLimits: DEFAULT_TEXT_LIMITS })(await createTurn(), next);
}
