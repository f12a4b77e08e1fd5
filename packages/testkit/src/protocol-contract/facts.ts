import { expect } from "vitest";
import type { Reply, TurnRequest } from "@budgie/core";
import { TurnEvents } from "@budgie/core/protocol";
import type { TurnHooks } from "@budgie/core/turn";
import { failureOf } from "../failure-of.ts";
import type { Task, ProtocolUnderTest } from "./protocol-under-test.ts";

/** Asks the agent to do a task. */
type Ask = (
  task: Task,
  options?: Pick<TurnRequest, "sessionId" | "tightening"> & Pick<TurnHooks, "events" | "signal">,
) => Promise<Reply>;

/** The means of a fact's test. */
export type Trial = Pick<ProtocolUnderTest, "forget" | "leftovers"> & { readonly ask: Ask };

type Test = (trial: Trial) => Promise<void>;

/** The size above which the contract's answers are truncated. */
export const MOST_ANSWER_BYTES = 1000;

/** The facts that hold for a protocol, unless it gives a reason why not. */
export const FACTS = {
  "answers with what the agent says": async ({ ask }) => {
    expect(await ask("speak")).toMatchObject({ response: expect.stringContaining("Answered."), denied: [] });
  },
  "continues the conversation of its session": async ({ ask }) => {
    const { sessionId } = await ask("remember");
    expect((await ask("recall", { sessionId })).response).toContain("token-lark");
  },
  "begins another conversation in another session": async ({ ask }) => {
    await ask("remember");
    expect((await ask("recall")).response).not.toContain("token-lark");
  },
  "does not replace a lost conversation with a new one": async ({ ask, forget }) => {
    const { sessionId } = await ask("remember");
    await forget();
    expect((await failureOf(ask("recall", { sessionId }))).code).toMatch(/^(?:AGENT_FAILED|SESSION_UNUSABLE)$/);
  },
  "passes on what the agent says at once": async ({ ask }) => {
    const said: Buffer[] = [];
    await ask("speak", { events: new TurnEvents().on("output", (chunk) => void said.push(chunk)) });
    expect(Buffer.concat(said).toString()).toContain("Answered.");
  },
  "shows what the agent does": async ({ ask }) => {
    const shown = new Set<string>();
    await ask("use a tool", { events: new TurnEvents().on("activity", (activity) => void shown.add(activity)) });
    expect([...shown]).not.toEqual([]);
  },
  "names denied tools": async ({ ask }) => {
    expect((await ask("use a denied tool")).denied).toHaveLength(1);
  },
  "reports the cost": async ({ ask }) => {
    expect((await ask("speak")).usage).toBeDefined();
  },
  "ends a cancelled turn with CANCELLED": async ({ ask, leftovers }) => {
    const cancelling = new AbortController();
    const { signal } = cancelling;
    const events = new TurnEvents().on("output", () => cancelling.abort());
    const error = await failureOf(ask("hang", { signal, events }));
    expect({ code: error.code, left: await leftovers() }).toEqual({ code: "CANCELLED", left: [] });
  },
  "ends a turn beyond its time with TIMED_OUT": async ({ ask, leftovers }) => {
    const error = await failureOf(ask("hang", { tightening: { timeoutMs: 2000 } }));
    expect({ code: error.code, left: await leftovers() }).toEqual({ code: "TIMED_OUT", left: [] });
  },
  "reports a crash as AGENT_CRASHED": async ({ ask, leftovers }) => {
    const error = await failureOf(ask("crash"));
    expect({ code: error.code, left: await leftovers() }).toEqual({ code: "AGENT_CRASHED", left: [] });
  },
  "reports an agent that says nothing as AGENT_FAILED": async ({ ask }) => {
    expect((await failureOf(ask("say nothing"))).code).toBe("AGENT_FAILED");
  },
  "cuts a long answer": async ({ ask }) => {
    const { response, warnings } = await ask("say much");
    expect(Buffer.byteLength(response)).toBeLessThan(2 * MOST_ANSWER_BYTES);
    expect(warnings.join()).toContain("was cut");
  },
  "removes control characters": async ({ ask }) => {
    // oxlint-disable-next-line no-control-regex
    expect((await ask("paint")).response).toMatch(/^[^\u0000-\u001f\u007f-\u009f]*red[^\u0000-\u001f\u007f-\u009f]*$/);
  },
} as const satisfies Readonly<Record<string, Test>>;

/** The name of a fact. */
export type Fact = keyof typeof FACTS;
