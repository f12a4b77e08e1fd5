import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createOwner } from "@budgie/core";
import { createBudgieUser, toText, waitFor, type BudgieUser } from "../../helpers/start-budgie.ts";

type Listed = { readonly runId: string; readonly phase: string; readonly pid?: number };

const RUN_ID = "0a0a0a0a-0a0a-4a0a-8a0a-0a0a0a0a0a0a";
const WORK = "[[say: First I read.]][[sleep 600000]]";

async function ps({ command }: BudgieUser): Promise<readonly Listed[]> {
  return JSON.parse((await command(["ps", "--json"])).stdout) as readonly Listed[];
}

/** Waits until a turn's agent runs. */
function findRunning(user: BudgieUser): Promise<Listed> {
  return waitFor(async () => (await ps(user)).find(({ phase, pid }) => phase === "running" && pid !== undefined));
}

describe("a turn that runs in another process", () => {
  it("is listed by ps, read by logs, and cancelled by stop, which its client is told", async () => {
    await using user = await createBudgieUser();
    const { ask } = await user.start({ clientName: "some-client" });
    const call = ask("shell-worker", { prompt: WORK });
    const { runId } = await findRunning(user);
    await waitFor(async () => (await user.command(["logs"])).stdout.includes("First I read."));
    const id = runId.slice(0, 8);

    const table = await user.command(["ps"]);
    const followed = user.command(["logs", "--follow", id]);
    const stopped = await user.command(["stop"]);

    expect(table.stdout.split("\n")).toEqual([
      expect.stringMatching(/^RUN +AGENT +STATE +AGE +CLIENT +SESSION +CPU TIME +MEMORY +RUNS IN$/),
      expect.stringMatching(
        `^${id}  shell-worker  running  \\S+ +some-client  [0-9a-f]{8} +[0-9.]+m?s +[0-9]+ MB +process [0-9]+$`,
      ),
      "",
    ]);
    expect(stopped).toMatchObject({ exitCode: 0, stdout: `stopped ${runId}\n`, stderr: "" });
    expect(await followed).toMatchObject({ exitCode: 0, stderr: "budgie: The turn has ended: CANCELLED.\n" });
    const result = await call;
    expect(result.isError).toBe(true);
    expect(result.structuredContent).toMatchObject({ code: "CANCELLED" });
    expect(toText(result)).toContain('The user stopped it with "budgie stop".');
    expect(user.kiroCalls()).toHaveLength(1);
    expect(await ps(user)).toEqual([]);
  });

  it("is listed with its place while it waits, and stopped there", async () => {
    await using user = await createBudgieUser();
    const { ask } = await user.serve({ args: ["--max-concurrent", "1"] });
    const calls = [ask("shell-worker", { prompt: WORK })];
    await findRunning(user);
    calls.push(ask("code-reviewer", { prompt: WORK }));
    const waiting = await waitFor(async () => (await ps(user)).find(({ phase }) => phase === "waiting"));

    await waitFor(() => user.kiroCalls().length === 1);
    expect((await user.command(["ps"])).stdout).toMatch(/code-reviewer +waiting \(1\) /);
    for (const { runId } of [waiting, await findRunning(user)]) await user.command(["stop", runId]);

    for (const result of await Promise.all(calls))
      expect(result.structuredContent).toMatchObject({ code: "CANCELLED" });
    expect(user.kiroCalls()).toHaveLength(1);
  });

  it("has output that a terminal does not obey", async () => {
    await using user = await createBudgieUser();
    const { ask } = await user.serve();
    const call = ask("shell-worker", { prompt: "[[say: \u001B]0;title\u0007\u001B[2Jshown]][[sleep 600000]]" });
    const { runId } = await findRunning(user);

    const { stdout } = await waitFor(async () => {
      const logs = await user.command(["logs", runId]);
      return logs.stdout.includes("shown") && logs;
    });
    await user.command(["stop", runId]);
    await call;

    // oxlint-disable-next-line no-control-regex
    expect(stdout).not.toMatch(/[\u0000-\u0008\u000B-\u001F]/);
  });
});

describe("a turn whose end is not confirmed", () => {
  it.each([
    ["RUNNER_UNAVAILABLE", `${RUN_ID} may still run: RUNNER_UNAVAILABLE\n`],
    [undefined, `${RUN_ID} gave no answer; "budgie runs show ${RUN_ID}" may have its end\n`],
  ])("makes stop fail with the outcome %s, and logs say that output is missing", async (outcome, stdout) => {
    await using user = await createBudgieUser();
    const stateDir = join(user.host.home, ".local/state/budgie");
    const owner = createOwner({ stateDir, isolation: "none" });
    const facts = { agent: "reader", directory: "/project", isolation: "none", startedMs: 0, phase: "running" };
    owner.answer(async (request, { send }) => {
      const { ask } = request as { readonly ask: string };
      if (ask === "runs") send({ runs: [{ runId: RUN_ID, ...facts }] });
      else if (ask === "stop" && outcome !== undefined) send({ outcome });
    });
    await owner.hold();

    const stopped = await user.command(["stop", RUN_ID]);
    const logs = await user.command(["logs", RUN_ID]);

    await owner.release();
    expect(stopped).toMatchObject({ exitCode: 1, stdout });
    expect(logs).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("The output is cut off") });
  });
});

describe("without a turn", () => {
  it("ps says so, and logs and stop refuse", async () => {
    await using user = await createBudgieUser();

    expect(await user.command(["ps"])).toMatchObject({ exitCode: 0, stdout: "Nothing runs.\n" });
    expect(await ps(user)).toEqual([]);
    for (const name of ["logs", "stop"]) {
      const { exitCode, stderr, stdout } = await user.command([name, "0a"]);
      expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
      expect(stderr).toMatch(/^budgie: No turn "0a" runs now\. "budgie ps" lists/);
    }
  });
});
