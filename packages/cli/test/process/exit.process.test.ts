import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isAlive } from "@budgie/testkit";
import { createBudgieUser, waitFor, type Budgie, type BudgieUser } from "../helpers/start-budgie.ts";

type Ending = readonly [what: string, end: (budgie: Budgie) => void, answer: object | undefined];

const CANCELLED = { isError: true, structuredContent: { code: "CANCELLED" } };
const ENDINGS: readonly Ending[] = [
  // Its client has left.
  ["stdin ends", ({ child }) => void child.stdin?.end(), undefined],
  ["SIGTERM comes", ({ child }) => void child.kill("SIGTERM"), CANCELLED],
  ["SIGINT comes", ({ child }) => void child.kill("SIGINT"), CANCELLED],
  ["SIGHUP comes", ({ child }) => void child.kill("SIGHUP"), CANCELLED],
];

// Once the file exists, the agent ignores signals; before, a signal would end it.
const DEAF = "[[write deaf: yes]][[fault hang]]";

/** Starts one working agent and one idle session. */
async function startWork(user: BudgieUser, prompt: string) {
  const budgie = await user.start();
  await budgie.ask("code-reviewer", { prompt: "Hello" });
  const answer = budgie.ask("code-reviewer", { prompt }).catch(() => undefined);
  const { pid } = await waitFor(() => user.kiroCalls()[1]);
  if (prompt === DEAF) await waitFor(() => existsSync(join(user.workspace, "deaf")));
  return { answer, budgie, agent: pid };
}

const listLocks = ({ host }: BudgieUser) => readdirSync(join(host.home, ".local", "state", "budgie", "owners"));

describe("budgie", () => {
  it.each(ENDINGS)("ends its agents and removes its sessions when %s", async (_what, end, expected) => {
    await using user = await createBudgieUser();
    const { agent, answer, budgie } = await startWork(user, "[[sleep 60000]]");
    const sessionsBefore = readdirSync(user.sessionsDir).length;

    end(budgie);

    // Exit code 0: the cleanup did not reach its time limit.
    expect(await budgie.ended).toEqual({ exitCode: 0, signal: null });
    expect(isAlive(agent)).toBe(false);
    expect(sessionsBefore).toBe(2);
    expect(readdirSync(user.sessionsDir)).toEqual([]);
    expect(listLocks(user)).toEqual([]);
    expect(budgie.stderr()).not.toContain("clean up");
    if (expected === undefined) expect(await answer).toBeUndefined();
    else expect(await answer).toMatchObject(expected);
  });

  it("treats a closed stdout as a disconnected client", async () => {
    await using user = await createBudgieUser();
    const { agent, budgie } = await startWork(user, "[[sleep 60000]]");

    budgie.child.stdout?.destroy();
    budgie.child.stdin?.write('{"jsonrpc":"2.0","id":99,"method":"tools/list"}\n');

    expect(await budgie.ended).toEqual({ exitCode: 0, signal: null });
    expect(isAlive(agent)).toBe(false);
    expect(readdirSync(user.sessionsDir)).toEqual([]);
  });

  it("exits even with an agent that ignores signals", async () => {
    await using user = await createBudgieUser();
    const { agent, budgie } = await startWork(user, DEAF);

    budgie.child.stdin?.end();

    expect(await budgie.ended).toEqual({ exitCode: 0, signal: null });
    expect(isAlive(agent)).toBe(false);
    expect(readdirSync(user.sessionsDir)).toEqual([]);
  });

  it("continues its shutdown when a first signal follows the end of stdin", async () => {
    await using user = await createBudgieUser();
    const { agent, budgie } = await startWork(user, DEAF);

    budgie.child.stdin?.end();
    await new Promise((wake) => setTimeout(wake, 200));
    budgie.child.kill("SIGTERM");

    expect(await budgie.ended).toEqual({ exitCode: 0, signal: null });
    expect(isAlive(agent)).toBe(false);
  });

  it("exits at once on a second signal, with exit code 1", async () => {
    await using user = await createBudgieUser();
    const { agent, budgie } = await startWork(user, DEAF);

    budgie.child.kill("SIGTERM");
    await new Promise((wake) => setTimeout(wake, 200));
    budgie.child.kill("SIGTERM");

    expect(await budgie.ended).toEqual({ exitCode: 1, signal: null });
    // The second signal does not wait for the agent, unlike the first.
    expect(isAlive(agent)).toBe(true);
    await user.run(["gc"], { DOCKER_HOST: "unix:///nowhere" });
    expect(isAlive(agent)).toBe(false);
  });

  it("writes no file before the first call", async () => {
    await using user = await createBudgieUser();
    const { client } = await user.serve();

    await client.listTools();

    expect(existsSync(user.sessionsDir)).toBe(false);
    expect(existsSync(join(user.host.home, ".local", "state"))).toBe(false);
  });

  it("uses at most 100 MB when idle", async () => {
    await using user = await createBudgieUser();
    const { ask, child } = await user.start();
    await ask("code-reviewer", { prompt: "Hello" });

    const status = readFileSync(`/proc/${child.pid}/status`, "utf8");

    const residentKb = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]);
    expect(residentKb).toBeGreaterThan(10_000);
    expect(residentKb).toBeLessThan(100_000);
  });
});
