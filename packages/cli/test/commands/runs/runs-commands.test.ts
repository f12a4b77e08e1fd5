import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createOwner } from "@budgie/core";
import type { FinishedRun } from "@budgie/core/runs";
import { createRunLog } from "@budgie/store";
import { createBudgieUser, type BudgieUser } from "../../helpers/start-budgie.ts";

const toStateDir = ({ host }: BudgieUser): string => join(host.home, ".local/state/budgie");

function makeRun(over: Partial<FinishedRun> = {}): FinishedRun {
  const startedMs = Date.now() - 90_000;
  return {
    id: randomUUID(),
    agent: "reader",
    sessionId: randomUUID(),
    isolation: "none",
    startedMs,
    endedMs: startedMs + 15_300,
    outcome: "answered",
    exit: { exitCode: 0, signal: undefined },
    promptBytes: 5,
    answer: "All is well.",
    retried: false,
    timedOut: false,
    error: undefined,
    egress: undefined,
    usage: { credits: 0.07 },
    ...over,
  };
}

/** Writes runs to the user's log, and marks these as delivered. */
async function remember(user: BudgieUser, runs: readonly FinishedRun[], delivered: readonly string[] = []) {
  const stateDir = toStateDir(user);
  const log = createRunLog({ stateDir, owner: createOwner({ stateDir }), report: () => undefined });
  for (const run of runs) await log.finish(run);
  await log.delivered(delivered);
  log.close();
}

async function json(user: BudgieUser, ...argv: string[]): Promise<unknown> {
  const { exitCode, stderr, stdout } = await user.command(["runs", ...argv, "--json"]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  return JSON.parse(stdout);
}

describe("budgie runs ls", () => {
  it("lists the last turns as a table, the newest first", async () => {
    await using user = await createBudgieUser();
    const [got, missed] = [makeRun(), makeRun({ agent: "shell-worker" })];
    const failed = makeRun({ outcome: "RUNNER_UNAVAILABLE", answer: undefined, sessionId: undefined });
    await remember(user, [got, missed, failed], [got.id]);

    const { exitCode, stderr, stdout } = await user.command(["runs", "ls"]);

    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    const [first, asked, second, kept] = [got.id, got.sessionId, missed.id, missed.sessionId].map((id) =>
      id?.slice(0, 8),
    );
    expect(stdout.split("\n")).toEqual([
      expect.stringMatching(/^RUN +STARTED +AGENT +OUTCOME +TOOK +ANSWER +SESSION$/),
      expect.stringMatching(`^${failed.id.slice(0, 8)}  \\d+ [sm] ago *  reader +RUNNER_UNAVAILABLE +15.3s$`),
      expect.stringMatching(
        `^${second}  \\d+ [sm] ago *  shell-worker  answered, not delivered  15.3s  12 bytes  ${kept}$`,
      ),
      expect.stringMatching(`^${first}  \\d+ [sm] ago *  reader +answered +15.3s  12 bytes  ${asked}$`),
      "",
    ]);
  });

  it("limits the list to a number, an agent or a session", async () => {
    await using user = await createBudgieUser();
    const [first, second, third] = [makeRun(), makeRun({ agent: "shell-worker" }), makeRun()];
    await remember(user, [first, second, third]);

    expect(await json(user, "ls", "--last", "1")).toMatchObject([{ id: third.id }]);
    expect(await json(user, "ls", "--agent", "reader")).toMatchObject([{ id: third.id }, { id: first.id }]);
    expect(await json(user, "ls", "--session", second.sessionId?.slice(0, 8) ?? "")).toMatchObject([{ id: second.id }]);
  });

  it("prints everything but the answers as JSON", async () => {
    await using user = await createBudgieUser();
    const { answer: _, endedMs, startedMs, ...run } = makeRun();
    await remember(user, [{ ...run, answer: "All is well.", endedMs, startedMs }]);

    expect(await json(user, "ls")).toEqual([
      {
        ...JSON.parse(JSON.stringify(run)),
        answerBytes: 12,
        delivered: false,
        started: new Date(startedMs).toISOString(),
        ended: new Date(endedMs).toISOString(),
        durationMs: 15_300,
      },
    ]);
  });

  it("creates no file if there is no log", async () => {
    await using user = await createBudgieUser();

    expect(await user.command(["runs", "ls"])).toMatchObject({
      exitCode: 0,
      stdout: "There is no turn in the run log yet.\n",
    });
    expect((await user.command(["runs", "ls", "--agent", "Reader"])).stdout).toBe(
      'There is no turn of the agent "reader" in the run log yet.\n',
    );
    expect(await json(user, "ls")).toEqual([]);
    expect(await json(user, "rm", "--all")).toEqual({ removed: [] });
    expect(existsSync(toStateDir(user))).toBe(false);
  });
});

describe("budgie runs show", () => {
  it("prints the whole run and its answer, for an id or its beginning", async () => {
    await using user = await createBudgieUser();
    const allowed = [{ host: "api.test", port: 443, count: 2 }];
    const denied = [{ host: "evil.test", port: 80, count: 1, why: "not on the allow-list" }];
    const run = makeRun({ retried: true, egress: { allowed, denied } });
    await remember(user, [run, makeRun({ answer: "Another." })], [run.id]);

    const { stdout } = await user.command(["runs", "show", run.id.slice(0, 9)]);

    expect(stdout.replace(/^(\w+) +/gm, "$1 ").split("\n")).toEqual([
      `run ${run.id}`,
      "agent reader",
      `session ${run.sessionId}`,
      "isolation none",
      `started ${new Date(run.startedMs).toISOString()}`,
      `ended ${new Date(run.endedMs).toISOString()}, after 15.3s`,
      "outcome answered, at the second try",
      "exit code 0",
      "prompt 5 bytes, which are not kept",
      "answer 12 bytes, delivered",
      "credits 0.07",
      "reached api.test:443 (2)",
      "refused evil.test:80 (1)",
      "",
      "All is well.",
      "",
    ]);
    expect(await json(user, "show", run.id)).toMatchObject({ id: run.id, answer: "All is well.", egress: { denied } });
  });

  it("shows tokens, what the session has cost so far, the calls of MCP tools, and turns beside it", async () => {
    await using user = await createBudgieUser();
    const usage = { inputTokens: 7, outputTokens: 3, totalTokens: 10, sessionCost: { amount: 0.25, currency: "USD" } };
    const mcpCalls = [{ server: "github", tool: "get", durationMs: 1500, outcome: "TIMED_OUT" as const }];
    const run = makeRun({ usage, mcpCalls, others: [{ runId: "9a60c3de", agent: "worker" }] });
    await remember(user, [run]);

    const { stdout } = await user.command(["runs", "show", run.id]);

    expect(stdout).toMatch(/^tokens +7 in, 3 out, 10 in all$/m);
    expect(stdout).toMatch(/^cost +0\.25 USD for the session so far$/m);
    expect(stdout).toMatch(/^tools +@github\/get \(TIMED_OUT, 1\.5s\)$/m);
    expect(stdout).toMatch(/^beside +worker \(run 9a60c3de\)$/m);
    expect(await json(user, "show", run.id)).toMatchObject({ usage, mcpCalls, others: run.others });
  });

  it("escapes answers and errors for a terminal, and changes nothing in JSON", async () => {
    await using user = await createBudgieUser();
    const answer = "Grün \u001b[31mred\u001b[0m \u009b2J \u202Eabc\u{E0041} \u0007";
    const run = makeRun({ answer, error: "bad\u001b]0;title\u0007\nrun   root", outcome: "AGENT_FAILED" });
    await remember(user, [run]);

    const { stdout: text } = await user.command(["runs", "show", run.id]);
    const { stdout: safe } = await user.command(["runs", "show", run.id, "--json"]);

    expect(text.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(text).toMatch(/^error +bad run root$/m);
    expect(text).toContain("Grün red");
    expect(safe.trimEnd()).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(JSON.parse(safe)).toMatchObject({ answer, error: run.error });
  });

  it("lists the runs if an id fits none or several", async () => {
    await using user = await createBudgieUser();
    await remember(user, [makeRun({ id: "abc-1" }), makeRun({ id: "abc-2" })]);

    expect(await user.command(["runs", "show", "x%"])).toMatchObject({
      exitCode: 1,
      stderr: 'budgie: There is no run "x%" in the log. "budgie runs ls" lists all that are there.\n',
    });
    expect(await user.command(["runs", "show", "ab"])).toMatchObject({
      exitCode: 1,
      stderr: 'budgie: The ids of several runs begin with "ab", such as "abc-1", "abc-2". Give more of the id.\n',
    });
    expect(await json(user, "show", "abc-2")).toMatchObject({ id: "abc-2" });
    expect((await user.command(["runs", "show", ""])).exitCode).toBe(1);
  });
});

describe("budgie runs rm", () => {
  it("removes the named runs, those of an age, or all, with the answers", async () => {
    await using user = await createBudgieUser();
    const old = makeRun({ startedMs: Date.now() - 8 * 86_400_000 });
    // The clock was set back after this run.
    const ahead = makeRun({ startedMs: Date.now() + 2 * 86_400_000 });
    const runs = [old, makeRun(), makeRun(), ahead];
    await remember(user, runs);

    const named = await json(user, "rm", runs[1]?.id.slice(0, 12) ?? "", runs[1]?.id ?? "");
    const aged = await json(user, "rm", "--older-than", "7d");
    const all = await user.command(["runs", "rm", "--all"]);

    expect(named).toEqual({ removed: [runs[1]?.id] });
    expect(aged).toEqual({ removed: [old.id] });
    expect(all).toMatchObject({ exitCode: 0, stdout: "Removed 2 runs.\n" });
    expect(await json(user, "ls")).toEqual([]);
    expect((await user.command(["runs", "show", old.id])).exitCode).toBe(1);
  });

  it("removes nothing unless all named runs exist, and one way was chosen", async () => {
    await using user = await createBudgieUser();
    const run = makeRun();
    await remember(user, [run]);
    const argvs = [["rm"], ["rm", run.id, "--all"], ["rm", "--all", "--older-than", "1s"], ["rm", "--older-than", "x"]];
    const surplus = ["ls reader", `show ${run.id} another`, "ls --last 0", "list"].map((line) => line.split(" "));

    for (const argv of [...argvs, ...surplus]) {
      expect(await user.command(["runs", ...argv])).toMatchObject({ exitCode: 2, stdout: "" });
    }
    expect(await user.command(["runs", "rm", run.id, "unknown"])).toMatchObject({ exitCode: 1, stdout: "" });
    expect(await json(user, "ls")).toMatchObject([{ id: run.id }]);
  });
});
