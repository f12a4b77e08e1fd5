import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createBudgieUser, toEngineVariables, toText, waitFor, type BudgieUser } from "./helpers/start-budgie.ts";
import { listTraces } from "./helpers/engine.ts";

const sandbox = true;
const AT_WORK = "[[write at-work: yes]][[sleep 60000]]";

describe("budgie --sandbox ends", () => {
  it.each([
    ["the end of stdin", undefined],
    ["SIGTERM", "SIGTERM"],
    ["SIGINT", "SIGINT"],
    ["SIGHUP", "SIGHUP"],
  ] as const)("with %s, and leaves nothing on the engine", async (_what, signal) => {
    await using user = await createBudgieUser();
    const { ask, child, ended, stderr } = await user.start({ sandbox });
    await ask("code-reviewer", { prompt: "Hello" });
    ask("code-reviewer", { prompt: AT_WORK }).catch(() => undefined);
    await waitFor(() => existsSync(join(user.workspace, "at-work")));
    const before = await listTraces(user);

    if (signal === undefined) child.stdin?.end();
    else child.kill(signal);

    // Exit code 0: the cleanup did not reach its time limit.
    expect(await ended).toEqual({ exitCode: 0, signal: null });
    // Two homes, two logins, two session containers, and the turn.
    expect(before.length).toBeGreaterThanOrEqual(7);
    expect(await listTraces(user)).toEqual([]);
    expect(stderr()).not.toContain("clean up");
  });

  it("with an agent that ignores signals", async () => {
    await using user = await createBudgieUser();
    const { ask, child, ended } = await user.start({ sandbox });
    ask("code-reviewer", { prompt: "[[write at-work: yes]][[fault hang]]" }).catch(() => undefined);
    await waitFor(() => existsSync(join(user.workspace, "at-work")));

    child.stdin?.end();

    expect(await ended).toEqual({ exitCode: 0, signal: null });
    expect(await listTraces(user)).toEqual([]);
  });

  it("by kill -9, and after budgie gc its garbage is gone, and nothing of a live one", async () => {
    await using user = await createBudgieUser();
    // A session made ahead would come later.
    const live = await user.start({ sandbox, env: { BUDGIE_AHEAD: "0" } });
    const first = await live.ask("code-reviewer", { prompt: "Keep the word token-finch." });
    const { sessionId } = first.structuredContent ?? {};
    const liveTraces = await listKept(user);
    const dead = await user.start({ sandbox });
    dead.ask("code-reviewer", { prompt: AT_WORK }).catch(() => undefined);
    await waitFor(() => existsSync(join(user.workspace, "at-work")));
    const allTraces = await listKept(user);
    dead.child.kill("SIGKILL");
    await dead.ended;

    const { exitCode } = await user.run(["gc"], toEngineVariables());

    const left = await listKept(user);
    expect(exitCode).toBe(0);
    expect(allTraces.length).toBeGreaterThan(liveTraces.length);
    expect(left.toSorted()).toEqual(liveTraces.toSorted());
    const second = await live.ask("code-reviewer", { prompt: "[[recall]]", sessionId });
    expect(toText(second)).toBe("token-finch");
  });
});

/** Lists traces except those of turns, which are removed a moment after their answers. */
async function listKept(user: BudgieUser): Promise<readonly string[]> {
  return (await listTraces(user)).filter((name) => !name.includes("budgie-turn-"));
}
