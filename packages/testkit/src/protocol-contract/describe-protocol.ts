import { describe, expect, it } from "vitest";
import { createRunTurn } from "@budgie/core";
import { DEFAULT_TEXT_LIMITS } from "@budgie/core/turn";
import { FACTS, MOST_ANSWER_BYTES, type Fact, type Trial } from "./facts.ts";
import type { Gaps } from "./gaps.ts";
import type { ProtocolUnderTest, Task } from "./protocol-under-test.ts";

/** The parts of the contract that differ by protocol. */
export type ProtocolSetup = {
  /**
   * The prompts for each task of its agent. `speak` answers `Answered.`; `remember` keeps the word `token-lark`, which `recall` answers;
   * `say much` answers 20,000 characters; `hang` says something first; `paint` answers `red`, between control characters.
   */
  readonly prompts: Readonly<Partial<Record<Task, string>>>;
  /** The facts that it does not have, and why */
  readonly without: Gaps;
  /** Creates a protocol under test, which is disposed of at the end of its test. */
  readonly create: () => Promise<ProtocolUnderTest>;
};

/** Describes the contract of `Protocol`: the same facts for every protocol, through a whole turn without a retry. */
export function describeProtocol(name: string, { create, prompts, without }: ProtocolSetup): void {
  describe(`the contract of protocols: ${name}`, () => {
    it("gives a reason for each fact that it does not have", () => {
      for (const [fact, reason] of Object.entries(without)) expect(`${fact}: ${reason}`).toMatch(/: \S.{10,}$/);
    });

    const kept = (Object.keys(FACTS) as readonly Fact[]).filter((fact) => without[fact] === undefined);

    it.each(kept)("it %s", async (fact) => {
      await using place = await create();
      await FACTS[fact](toTrial(place, prompts));
    });
  });
}

function toTrial(place: ProtocolUnderTest, prompts: ProtocolSetup["prompts"]): Trial {
  const { agent, forget, leftovers, protocol, runner, workspace: directory } = place;
  const runTurn = createRunTurn({
    agents: () => [agent],
    runner,
    protocol,
    remote: { runner, protocol },
    policyOf: () => ({ workspace: "rw", egress: { mode: "bridge", hosts: [] }, limits: {}, timeoutMs: 60_000 }),
    workspaceRules: { allowedRoots: [], guarded: undefined },
    retry: "never",
    textLimits: { ...DEFAULT_TEXT_LIMITS, maxAnswerBytes: MOST_ANSWER_BYTES },
  });
  return {
    forget,
    leftovers,
    ask(task, { sessionId, tightening, ...hooks } = {}) {
      const prompt = prompts[task];
      if (prompt === undefined) throw new Error(`There is no prompt to ${task}.`);
      return runTurn({ agent: agent.name, directory, prompt, sessionId, tightening }, hooks);
    },
  };
}
