import { existsSync } from "node:fs";
import { join } from "node:path";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it } from "vitest";
import {
  createBudgieUser,
  toText,
  waitFor,
  type BudgieUser,
  type Served,
} from "../../../../cli/test/helpers/start-budgie.ts";

type Listed = {
  readonly id: string;
  readonly agent: string;
  readonly sessionId: string;
  readonly outcome: string;
  readonly delivered: boolean;
  readonly answer?: string;
};

async function list(user: BudgieUser): Promise<readonly Listed[]> {
  return JSON.parse((await user.command(["runs", "ls", "--json"])).stdout) as Listed[];
}

async function show(user: BudgieUser, id: string): Promise<Listed> {
  return JSON.parse((await user.command(["runs", "show", id, "--json"])).stdout) as Listed;
}

/** Makes a call without waiting for its answer, like a client that is about to disconnect. */
function send({ stdin }: Served, message: object): void {
  stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

function toCall(user: BudgieUser, id: number, input: object) {
  const params = { name: "kiro-subagents.code-reviewer", arguments: { directory: user.workspace, ...input } };
  return { id, method: "tools/call", params };
}

const LONG = "long ".repeat(18_000).trim();
const stateOf = ({ host }: BudgieUser): string => join(host.home, ".local/state/budgie");

const FACTS = { text: expect.stringMatching(/^\n\n\[budgie\] /) };

describe("an answer", () => {
  it("is completely in the log before its first byte is sent, so that it survives budgie", async () => {
    await using user = await createBudgieUser();
    const budgie = await user.start();
    budgie.child.stdout?.once("data", () => budgie.child.kill("SIGKILL"));

    send(budgie, toCall(user, 7, { prompt: `[[say: ${LONG}]]` }));
    await budgie.ended;

    const [run] = await list(user);
    expect(run).toMatchObject({ outcome: "answered" });
    expect((await show(user, run?.id ?? "")).answer).toBe(LONG);
  });

  it("is in the log while its client does not read, and is not delivered until it does", async () => {
    await using user = await createBudgieUser();
    const budgie = await user.start();
    budgie.child.stdout?.pause();

    const [asked, unread] = [7, 8];
    // More than a pipe holds, and Node reads ahead.
    send(budgie, toCall(user, asked, { prompt: `[[say: ${LONG}]]` }));
    send(budgie, toCall(user, unread, { prompt: `[[say: ${LONG}]]` }));
    const runs = await waitForRuns(user, (all) => all.filter(({ outcome }) => outcome === "answered").length === 2);
    const undelivered = runs.filter(({ delivered }) => !delivered);
    budgie.child.stdout?.resume();
    await waitForRuns(user, (all) => all.every(({ delivered }) => delivered));

    expect(undelivered.length).toBeGreaterThan(0);
  });

  it("of a disconnected client is printed by runs show, and reported by the next call on its session", async () => {
    await using user = await createBudgieUser();
    const budgie = await user.start();

    send(budgie, toCall(user, 7, { prompt: "[[sleep 2000]][[say: All is well.]]" }));
    await waitFor(() => user.kiroCalls()[0]);
    budgie.child.stdout?.destroy();
    const ended = await budgie.ended;

    expect(ended).toEqual({ exitCode: 0, signal: null });
    const [run] = await list(user);
    expect(run).toMatchObject({ outcome: "answered", delivered: false });
    expect((await show(user, run?.id ?? "")).answer).toBe("All is well.");
    const { ask } = await user.serve();
    const next = await ask("code-reviewer", { prompt: "And now?", sessionId: run?.sessionId });
    expect(toText(next)).toContain("All is well.");
    expect(next.structuredContent).toMatchObject({ missed: [{ runId: run?.id, response: "All is well." }] });
    await waitFor(async () => (await show(user, run?.id ?? "")).delivered);
  });

  it("of a disconnected client is reported with the next one of its session, if sessions are kept", async () => {
    await using user = await createBudgieUser();
    const keeping = { args: ["--keep-sessions"] };
    const budgie = await user.start(keeping);

    send(budgie, toCall(user, 7, { prompt: "[[sleep 2000]][[say: All is well.]]" }));
    await waitFor(() => user.kiroCalls()[0]);
    budgie.child.stdout?.destroy();
    await budgie.ended;
    const [run] = await list(user);
    const { ask } = await user.serve(keeping);
    const next = await ask("code-reviewer", { prompt: "[[say: And on.]]", sessionId: run?.sessionId });

    expect(next).toMatchObject({
      content: [{ text: expect.stringContaining("All is well.") }, { text: "And on." }, FACTS],
      structuredContent: { response: "And on.", missed: [{ runId: run?.id, response: "All is well." }] },
    });
  });

  it("that its client cancelled before it had all of it is reported before the session's next one, once", async () => {
    await using user = await createBudgieUser();
    const budgie = await user.start();
    const { ask, child } = budgie;
    const { sessionId } = (await ask("code-reviewer", { prompt: "Hello" })).structuredContent ?? {};

    child.stdout?.pause();
    // More than a pipe holds, and Node reads ahead.
    for (const filling of [7775, 7776]) send(budgie, toCall(user, filling, { prompt: `[[say: ${LONG}]]` }));
    await waitForRuns(user, (all) => all.filter(({ outcome }) => outcome === "answered").length === 3);
    send(budgie, toCall(user, 7777, { prompt: "[[say: Too late.]]", sessionId }));
    await waitForRuns(user, (all) => all.filter(({ outcome }) => outcome === "answered").length === 4);
    send(budgie, { method: "notifications/cancelled", params: { requestId: 7777, reason: "too slow" } });
    const asking = ask("code-reviewer", { prompt: "[[say: In time.]]", sessionId });
    // budgie has read what was sent before this call.
    await waitFor(() => user.kiroCalls()[4]);
    child.stdout?.resume();
    const second = await asking;
    const third = await ask("code-reviewer", { prompt: "[[say: And on.]]", sessionId });

    expect(second.content).toMatchObject([
      {
        text: expect.stringMatching(/^\[budgie: an earlier answer of this session, of 2.*Z, .*\]\n\nToo late\.\n\n\[/),
      },
      { text: "In time." },
      FACTS,
    ]);
    expect(second.structuredContent).toMatchObject({ response: "In time.", missed: [{ response: "Too late." }] });
    expect(third).toMatchObject({ content: [{ text: "And on." }, FACTS] });
  });

  it("that told its client the session is not reported again to a client that names it, whenever that cancelled", async () => {
    await using user = await createBudgieUser();
    const budgie = await user.serve();
    const { ask, lines } = budgie;

    send(budgie, toCall(user, 7777, { prompt: "[[say: Received.]]" }));
    const line = await waitFor(() => lines.find((one) => one.includes('"id":7777')));
    send(budgie, { method: "notifications/cancelled", params: { requestId: 7777, reason: "aborted" } });
    const { sessionId } = (JSON.parse(line) as { result: CallToolResult }).result.structuredContent ?? {};
    const next = await ask("code-reviewer", { prompt: "[[say: And on.]]", sessionId });

    expect(next).toMatchObject({ content: [{ text: "And on." }, FACTS] });
  });
});

function waitForRuns(user: BudgieUser, isSo: (runs: readonly Listed[]) => boolean): Promise<readonly Listed[]> {
  return waitFor(async () => {
    const runs = await list(user);
    return isSo(runs) && runs;
  });
}

describe("a budgie that is killed during a turn", () => {
  it("leaves a lost run, which the next budgie's health check counts with earlier ones", async () => {
    await using user = await createBudgieUser();
    const { ask, child, ended } = await user.start();
    await ask("code-reviewer", { prompt: "Hello" });
    ask("shell-worker", { prompt: "[[sleep 60000]]" }).catch(() => undefined);
    await waitFor(() => user.kiroCalls()[1]);

    const before = await list(user);
    child.kill("SIGKILL");
    await ended;
    const after = await list(user);
    const next = await user.serve();
    const { structuredContent } = await next.ask("health-check", { directory: undefined });

    expect(before).toMatchObject([{ agent: "shell-worker", outcome: "running" }, { outcome: "answered" }]);
    expect(after).toMatchObject([{ agent: "shell-worker", outcome: "lost" }, { outcome: "answered" }]);
    expect(structuredContent).toMatchObject({ overall: { totalCalls: 2, successCalls: 1, successRate: "50.0%" } });
    expect(structuredContent?.["agents"]).toContainEqual(
      expect.objectContaining({
        agent: "shell-worker",
        failedCalls: 1,
        lastError: "lost: The budgie that ran it ended before the turn did.",
      }),
    );
    await user.command(["gc"], { DOCKER_HOST: "unix:///nowhere" });
  });
});

describe("answers that are not logged", () => {
  it("are on no disk, but their turns are", async () => {
    await using user = await createBudgieUser();
    const { ask } = await user.serve({ args: ["--no-keep-answers"] });

    const { structuredContent } = await ask("code-reviewer", { prompt: "[[say: Secret.]]" });

    const [run] = await waitForRuns(user, ([one]) => one?.delivered === true);
    expect(run).toMatchObject({ id: structuredContent?.["runId"], outcome: "answered", answerBytes: 7 });
    expect(await show(user, run?.id ?? "")).not.toHaveProperty("answer");
    expect(existsSync(join(stateOf(user), "runs.sqlite3"))).toBe(true);
  });
});
