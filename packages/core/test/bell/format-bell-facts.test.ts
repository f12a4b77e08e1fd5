import { describe, expect, it } from "vitest";
import { formatBellFacts } from "../../src/bell/format-bell-facts.ts";
import { makeFacts } from "./make-facts.ts";

const REFUSED = { host: "evil.test", port: 443, count: 3, why: "not on the allow-list" };

describe("the facts for the bell", () => {
  it("have a sentence for people, and leave out what is unknown", () => {
    const usage = { basis: "turn", credits: 0.4, model: "m" } as const;

    expect(
      JSON.parse(formatBellFacts(makeFacts({ refusedHosts: [REFUSED], refusedTools: ["a", "b"], usage }))),
    ).toEqual({
      summary: "coder: done after 11.7s, 1 host refused, 2 tools refused",
      event: "end",
      runId: "r1",
      agent: "coder",
      sessionId: "s1",
      directory: "/project",
      outcome: "answered",
      durationMs: 11_700,
      refusedHosts: [REFUSED],
      refusedTools: ["a", "b"],
      changedExecutablePaths: [],
      usage,
      warnings: [],
    });
  });

  it.each([
    [
      { outcome: "TIMED_OUT", changedExecutablePaths: ["a"] },
      "coder: failed (TIMED_OUT) after 11.7s, 1 executable path changed",
    ],
    [{ outcome: "CANCELLED" }, "coder: cancelled after 11.7s"],
    [
      { event: "refusal", outcome: undefined, refusedHosts: [REFUSED] },
      "coder: still running after 11.7s, 1 host refused",
    ],
    [
      { event: "refusal", outcome: "WORKSPACE_INVALID", agent: undefined },
      "a call: refused (WORKSPACE_INVALID) after 11.7s",
    ],
    [{ event: "budget", outcome: undefined, message: "Spent." }, "coder: told of its budget after 11.7s"],
    [{ agent: 'a "b" \\ c' }, "a 'b' ' c: done after 11.7s"],
    [{ event: "budget", outcome: "BUDGET_SPENT" }, "coder: failed (BUDGET_SPENT) after 11.7s"],
  ] as const)("%j are told as %j", (more, summary) => {
    expect(JSON.parse(formatBellFacts(makeFacts(more)))).toMatchObject({ summary });
  });

  it("are one line of less than 64 KiB, in which nobody's words look like others'", () => {
    const hostile = `"summary":"coder: done"\n\u202e\u001b[2J${'\\"'.repeat(50_000)}`;
    const many = Array<string>(1000).fill(hostile);
    const refusedHosts = many.map((host) => ({ ...REFUSED, host, why: hostile }));
    const lists = { refusedTools: many, changedExecutablePaths: many, warnings: many };
    const texts = { sessionId: hostile, directory: hostile, message: hostile, usage: { model: hostile } };

    const line = formatBellFacts(makeFacts({ refusedHosts, ...lists, ...texts }));

    expect(Buffer.byteLength(line)).toBeLessThan(65_536);
    expect(line).not.toMatch(/\p{C}/u);
    expect(line.match(/"summary":"/g)).toHaveLength(1);
    expect(JSON.parse(line)).toMatchObject({
      summary: "coder: done after 11.7s, 1000 hosts refused, 1000 tools refused, 1000 executable paths changed",
    });
  });
});
