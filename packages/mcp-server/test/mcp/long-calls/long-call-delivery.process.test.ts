import { describe, expect, it } from "vitest";
import { callLong, SOON } from "./call-long.ts";
import { createBudgieUser, toText, waitFor, type BudgieUser } from "../../../../cli/test/helpers/start-budgie.ts";

const FACTS = { text: expect.stringMatching(/^\n\n\[budgie\] /) };

describe("the answer of a call that outlasted its soft deadline", () => {
  it("counts as delivered when it was collected, not when its call was answered `running`", async () => {
    await using user = await createBudgieUser();
    const { begin, collect, openGate, use } = callLong(user, await user.serve({ args: SOON }));
    const { runId } = await begin("[[say: It took long.]]");

    const whileRunning = await show(user, runId);
    openGate();
    await waitFor(async () => toText(await use("status", {})).includes("finished"));
    const finished = await show(user, runId);
    await collect(runId);

    expect(whileRunning).toMatchObject({ outcome: "running", delivered: false });
    expect(finished).toMatchObject({ outcome: "answered", delivered: false });
    await waitFor(async () => (await show(user, runId)).delivered);
  });

  it("is reported by the session's next turn if no client collected it, and once", async () => {
    await using user = await createBudgieUser();
    const { askToEnd, begin, openGate } = callLong(user, await user.serve({ args: SOON }));
    const { runId, sessionId } = await begin("[[say: It took long.]]");

    openGate();
    const [next, third] = [
      await askToEnd({ prompt: "[[say: And on.]]", sessionId }),
      await askToEnd({ prompt: "[[say: And on again.]]", sessionId }),
    ];

    expect(next.content).toMatchObject([
      { text: expect.stringContaining("It took long.") },
      { text: "And on." },
      FACTS,
    ]);
    expect(next.structuredContent).toMatchObject({ missed: [{ runId, response: "It took long." }] });
    expect(third).toMatchObject({ content: [{ text: "And on again." }, FACTS] });
  });

  it("is not reported by the session's next turn if it was collected", async () => {
    await using user = await createBudgieUser();
    const { askToEnd, begin, collect, openGate } = callLong(user, await user.serve({ args: SOON }));
    const { runId, sessionId } = await begin("[[say: It took long.]]");

    openGate();
    const collected = await collect(runId);
    const next = await askToEnd({ prompt: "[[say: And on.]]", sessionId });

    expect(toText(collected)).toBe("It took long.");
    expect(next).toMatchObject({ content: [{ text: "And on." }, FACTS] });
  });

  it("brings the session's earlier undelivered answers", async () => {
    await using user = await createBudgieUser();
    const { begin, collect, openGate } = callLong(user, await user.serve({ args: SOON }));
    const first = await begin("[[say: First.]]");
    const second = await begin("[[say: Second.]]", { sessionId: first.sessionId });

    openGate();
    const result = await collect(second.runId);

    expect(result.content).toMatchObject([{ text: expect.stringContaining("First.") }, { text: "Second." }, FACTS]);
    await waitFor(async () => (await show(user, first.runId)).delivered);
  });
});

type Shown = { readonly outcome: string; readonly delivered: boolean };

async function show(user: BudgieUser, runId: string): Promise<Shown> {
  return JSON.parse((await user.command(["runs", "show", runId, "--json"])).stdout) as Shown;
}
