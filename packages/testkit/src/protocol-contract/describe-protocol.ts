import { describe, expect, it } from "vitest";
import { createRunTurn, DEFAULT_TEXT_LIMITS } from "@budgie/core";
import { FACTS, MOST_ANSWER_BYTES, type Fact, type Trial } from "./facts.ts";
import type { ProtocolSetup } from "./protocol-setup.ts";
import type { ProtocolUnderTest } from "./protocol-under-test.ts";

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
    ask(deed, { sessionId, tightening, ...hooks } = {}) {
      const prompt = prompts[deed];
      if (prompt === undefined) throw new Error(`There is no prompt to ${deed}.`);
      return runTurn({ agent: agent.name, directory, prompt, sessionId, tightening }, hooks);
    },
  };
}
