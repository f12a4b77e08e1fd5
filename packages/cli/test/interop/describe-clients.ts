import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isAlive } from "@budgie/testkit";
import { createBudgieUser, toText, waitFor, type BudgieUser } from "../helpers/start-budgie.ts";
import { CLIENTS, runClient, type Call, type Outcome, type Seen, type Served } from "./clients.ts";

// The clients' timeout, and a longer call.
const PATIENCE_MS = 3000;
const LONG_MS = 3 * PATIENCE_MS;
const TOO_LONG_MS = 100 * PATIENCE_MS;

/** The interval of progress notifications of budgies under test. */
export const HEARTBEAT = `${PATIENCE_MS / 12}ms`;

const CALLS = ["answer", "memory", "failure", "unknown", "typo", "long", "tooLong"] as const;

/** Describes the behaviour that every official client gets of a budgie, wherever it listens. */
export function describeClients(where: string, serve: (user: BudgieUser) => Promise<Served>): void {
  describe(`official clients ${where}`, () => {
    let user: BudgieUser;
    let served: Served;
    const seen = new Map<string, Seen>();

    beforeAll(async () => {
      user = await createBudgieUser();
      served = await serve(user);
      const calls = Object.values(toCalls(user.workspace));
      const runs = CLIENTS.map(async (client) => void seen.set(client, await runClient(client, served.address, calls)));
      await Promise.all(runs);
    });
    afterAll(async () => {
      await served.end();
      await user[Symbol.asyncDispose]();
    });

    it("no agent runs on after its client's timeout", async () => {
      const agents = user.kiroCalls().filter(({ stdin }) => stdin.includes(`[[sleep ${TOO_LONG_MS}]]`));

      // A call that still waited in the queue had no agent.
      expect(agents).not.toEqual([]);
      await waitFor(() => agents.every(({ pid }) => !isAlive(pid)));
    });

    it.each(["v2-legacy", "v2-auto"])("%s speaks the newest revision that budgie supports", (client) => {
      expect(seen.get(client)?.revision).toBe("2025-11-25");
    });

    describe.each(CLIENTS)("%s", (client) => {
      function outcomeOf(call: (typeof CALLS)[number]): Outcome {
        return seen.get(client)?.outcomes[CALLS.indexOf(call)] ?? { progress: [] };
      }

      it("lists the tools, in their order", () => {
        expect(seen.get(client)).toMatchObject({
          server: { name: "budgie" },
          tools: [
            "kiro-subagents.code-reviewer",
            "kiro-subagents.health-check",
            "kiro-subagents.reader",
            "kiro-subagents.shell-worker",
          ],
        });
      });

      it("receives an agent's answer, and resumes its session", () => {
        expect(textOf(outcomeOf("answer"))).toBe("You asked: Keep the word token-parakeet.");
        expect(outcomeOf("answer").result?.structuredContent).toMatchObject({ agent: "code-reviewer" });
        expect(textOf(outcomeOf("memory"))).toBe("token-parakeet");
      });

      it("receives the error of a failed call", () => {
        expect(outcomeOf("failure").result).toMatchObject({
          isError: true,
          structuredContent: { code: "AGENT_FAILED" },
        });
        expect(textOf(outcomeOf("failure"))).toMatch(/^AGENT_FAILED: /);
        expect(outcomeOf("typo").result).toMatchObject({ isError: true, structuredContent: { code: "INPUT_INVALID" } });
        expect(textOf(outcomeOf("typo"))).toContain('no argument "session_id"');
      });

      it("gets a protocol error for an unknown tool", () => {
        expect(outcomeOf("unknown").error).toMatchObject({
          code: -32602,
          message: expect.stringContaining('There is no tool "kiro-subagents.nobody".'),
        });
      });

      it("waits for three times its timeout if progress resets that, and not otherwise", () => {
        const { progress } = outcomeOf("long");

        expect(textOf(outcomeOf("long"))).toBe("It took long.");
        expect(progress.map((told) => told.progress)).toEqual(progress.map((_, index) => index + 1));
        expect(outcomeOf("tooLong").error?.message).toContain("timed out");
      });
    });
  });
}

function toCalls(directory: string): Readonly<Record<(typeof CALLS)[number], Call>> {
  const name = "kiro-subagents.code-reviewer";
  const toLong = (ms: number) => ({ prompt: `[[sleep ${ms}]][[say: It took long.]]`, directory });
  return {
    answer: { name, arguments: { prompt: "Keep the word token-parakeet.", directory } },
    memory: { name, arguments: { prompt: "[[recall]]", directory }, resumes: true },
    failure: { name, arguments: { prompt: "[[fault silent]]", directory } },
    unknown: { name: "kiro-subagents.nobody", arguments: { prompt: "Hello", directory } },
    typo: { name, arguments: { prompt: "Hello", directory, session_id: "1" } },
    long: { name, arguments: toLong(LONG_MS), options: { timeout: PATIENCE_MS, resetTimeoutOnProgress: true } },
    tooLong: { name, arguments: toLong(TOO_LONG_MS), options: { timeout: PATIENCE_MS } },
  };
}

function textOf({ result }: Outcome): string | undefined {
  return result && toText(result);
}
