import { BudgieError } from "@budgie/core";
import { KNOWN_TELEMETRY } from "@budgie/core/egress";
import type { ProtocolAnswer } from "@budgie/core/protocol";
import { Turn } from "@budgie/core/turn";
import { expect, it } from "vitest";
import { ringBell } from "../../src/bell/ring-bell.ts";

const ANSWER = { response: "canary-answer", denied: ["shell"] } as unknown as ProtocolAnswer;
const DENIED = { host: "evil.test", port: 443, count: 1, why: "not on the allow-list" };
const REPORT = {
  directory: "/project",
  usage: { credits: 1 },
  warnings: ["Beware."],
  changedExecutablePaths: ["hook"],
};

/** Rings through a turn that does this, and returns what the bell was told. */
async function ringThrough(act: (turn: Turn) => ProtocolAnswer): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const rung: Readonly<Record<string, unknown>>[] = [];
  const turn = new Turn({ agent: "coder", prompt: "canary-prompt", directory: "/asked" }, {});
  const ring = (facts: string): void => {
    expect(facts).not.toContain("canary");
    rung.push(JSON.parse(facts) as Readonly<Record<string, unknown>>);
  };
  await ringBell({ ring })(turn, async () => act(turn)).catch(() => undefined);
  return rung;
}

function begin(turn: Turn): void {
  turn.request = { agent: { name: "coder" }, directory: "/project", sessionId: undefined } as Turn["request"];
  turn.session = { id: "s1" } as Turn["session"];
}

it("The bell has what was reported of an answered turn, without its prompt and its answer", async () => {
  const rung = await ringThrough((turn) => {
    begin(turn);
    Object.assign(turn.report, REPORT, { egress: { allowed: [], denied: [DENIED] } });
    return ANSWER;
  });

  expect(rung).toMatchObject([
    {
      event: "end",
      outcome: "answered",
      agent: "coder",
      sessionId: "s1",
      directory: "/project",
      refusedHosts: [DENIED],
      refusedTools: ["shell"],
      changedExecutablePaths: ["hook"],
      usage: { credits: 1 },
      warnings: ["Beware."],
    },
  ]);
});

it("It rings at a failure with its code alone, and with all warnings", async () => {
  const rung = await ringThrough((turn) => {
    begin(turn);
    turn.warn("Two.");
    throw new BudgieError("AGENT_FAILED", "canary-output", { report: { warnings: ["One."] } });
  });

  expect(rung).toMatchObject([{ event: "end", outcome: "AGENT_FAILED", warnings: ["One.", "Two."] }]);
});

it("It rings when a turn is first refused a host, but not for telemetry, and again at its end", async () => {
  const rung = await ringThrough((turn) => {
    begin(turn);
    const telemetry = { ...DENIED, host: "stats.test", why: KNOWN_TELEMETRY };
    for (const denied of [[telemetry], [telemetry, DENIED], [DENIED]])
      turn.events.emit("egress", { allowed: [], denied });
    return ANSWER;
  });

  expect(rung).toMatchObject([{ event: "refusal", refusedHosts: [DENIED] }, { event: "end" }]);
  expect(rung[0]).not.toHaveProperty("outcome");
});

it("It rings for a call whose directory is refused, which has no agent yet", async () => {
  const rung = await ringThrough(() => {
    throw new BudgieError("WORKSPACE_INVALID", "It is guarded.");
  });

  expect(rung).toMatchObject([{ event: "refusal", outcome: "WORKSPACE_INVALID", directory: "/asked" }]);
  expect(rung[0]).not.toHaveProperty("agent");
});

it("It rings for what a turn is told of its budgets", async () => {
  const rung = await ringThrough((turn) => {
    begin(turn);
    turn.events.emit("budget", "80 % of the day's credits are spent.");
    return ANSWER;
  });

  expect(rung).toMatchObject([{ event: "budget", message: "80 % of the day's credits are spent." }, { event: "end" }]);
});

it("It rings for a budget that ended a turn, and says which one", async () => {
  const rung = await ringThrough((turn) => {
    begin(turn);
    throw new BudgieError("BUDGET_SPENT", "The agent was stopped, since it has used 5 credits of this call.");
  });

  const message = "The agent was stopped, since it has used 5 credits of this call.";
  expect(rung).toMatchObject([{ event: "budget", outcome: "BUDGET_SPENT", message }]);
});
