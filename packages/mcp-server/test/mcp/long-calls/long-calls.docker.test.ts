import { describe, expect, it } from "vitest";
import { callLong, LATER } from "./call-long.ts";
import { listTraces } from "../../../../cli/test/helpers/engine.ts";
import { createBudgieUser, toText, waitFor, type BudgieUser } from "../../../../cli/test/helpers/start-budgie.ts";

describe("a sandboxed run past its soft deadline", () => {
  it("has no container left when cancel has answered, and its session can be resumed", async () => {
    await using user = await createBudgieUser();
    const budgie = await user.start({ sandbox: true, args: LATER });
    const { begin, use } = callLong(user, budgie);
    const { runId, sessionId } = await begin("");
    const before = await listTurns(user);

    const result = await use("cancel", { runId });

    expect(before).toHaveLength(1);
    expect(result.structuredContent).toMatchObject({ status: "cancelled", runId, sessionId });
    expect(await listTurns(user)).toEqual([]);
    const next = await budgie.ask("shell-worker", { prompt: "[[say: And on.]]", sessionId });
    expect(toText(next)).toBe("And on.");
  });

  it("leaves nothing when its client disconnects", async () => {
    await using user = await createBudgieUser();
    const budgie = await user.start({ sandbox: true, args: LATER });
    await callLong(user, budgie).begin("");
    const before = await listTurns(user);

    budgie.child.stdin?.end();

    expect(await budgie.ended).toEqual({ exitCode: 0, signal: null });
    expect(before).toHaveLength(1);
    expect(await listTraces(user)).toEqual([]);
  });

  it("is collected, and leaves no container", async () => {
    await using user = await createBudgieUser();
    const budgie = await user.start({ sandbox: true, args: LATER, env: { BUDGIE_AHEAD: "0" } });
    const { begin, collect, openGate } = callLong(user, budgie);
    const { runId } = await begin("[[say: It took long.]]");

    openGate();
    const result = await collect(runId);

    expect(toText(result)).toBe("It took long.");
    expect(result.structuredContent).toMatchObject({ isolation: "container", status: "done" });
    await waitFor(async () => (await listTurns(user)).length === 0);
  });
});

async function listTurns(user: BudgieUser): Promise<readonly string[]> {
  return (await listTraces(user)).filter((name) => name.includes("budgie-turn-"));
}
