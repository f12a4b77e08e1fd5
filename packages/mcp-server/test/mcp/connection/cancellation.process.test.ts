import { describe, expect, it } from "vitest";
import { isAlive } from "@budgie/testkit";
import { createBudgieUser, toText, waitFor } from "../../../../cli/test/helpers/start-budgie.ts";

describe("a client that cancels its call", () => {
  it("ends the agent, and can make other calls", async () => {
    await using user = await createBudgieUser();
    const { ask } = await user.serve();
    const cancelling = new AbortController();

    const answer = ask("code-reviewer", { prompt: "[[sleep 60000]]" }, cancelling.signal);
    const agent = await waitFor(() => user.kiroCalls()[0]);
    cancelling.abort("changed my mind");

    await expect(answer).rejects.toThrow("changed my mind");
    await waitFor(() => !isAlive(agent.pid));
    expect(toText(await ask("code-reviewer", { prompt: "Hello" }))).toBe("You asked: Hello");
  });

  it("ends an agent that ignores signals, and its child processes", async () => {
    await using user = await createBudgieUser();
    const { ask } = await user.serve();
    const cancelling = new AbortController();

    const answer = ask("shell-worker", { prompt: "[[fault child 500]][[fault hang]]" }, cancelling.signal);
    const agent = await waitFor(() => user.kiroCalls()[0]);
    cancelling.abort();

    await expect(answer).rejects.toThrow();
    await waitFor(() => !isAlive(agent.pid));
  });

  it("has the call counted as cancelled, not as failed", async () => {
    await using user = await createBudgieUser();
    const { ask, stderr } = await user.serve({ args: ["-verbose"] });
    const cancelling = new AbortController();
    const answer = ask("code-reviewer", { prompt: "[[sleep 60000]]" }, cancelling.signal);
    await waitFor(() => user.kiroCalls()[0]);
    cancelling.abort();
    await expect(answer).rejects.toThrow();
    await waitFor(() => stderr().includes("failed with CANCELLED"));

    const { structuredContent } = await ask("health-check", { directory: undefined });

    expect(structuredContent?.["agents"]).toContainEqual(
      expect.objectContaining({ agent: "code-reviewer", totalCalls: 1, failedCalls: 0, cancelledCalls: 1 }),
    );
  });

  it("gets no answer any more", async () => {
    await using user = await createBudgieUser();
    const { ask, lines, stderr } = await user.serve({ args: ["-verbose"] });
    const cancelling = new AbortController();
    const answer = ask("code-reviewer", { prompt: "[[sleep 60000]]" }, cancelling.signal);
    await waitFor(() => user.kiroCalls()[0]);
    const answersBefore = lines.length;
    cancelling.abort();
    await expect(answer).rejects.toThrow();
    await waitFor(() => stderr().includes("failed with CANCELLED"));

    await ask("health-check", { directory: undefined });

    expect(lines.length).toBe(answersBefore + 1);
  });
});
