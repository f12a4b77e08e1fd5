import { describe, expect, it } from "vitest";
import type { ServerNotification } from "@modelcontextprotocol/sdk/types.js";
import type { TurnProgress } from "@budgie/core";
import { createProgress } from "../../src/mcp/progress.ts";

const OF = { agent: "code-reviewer", runId: "r", sessionId: undefined };
const RUNNING: TurnProgress = { ...OF, phase: "running", tries: 1 };

describe("createProgress", () => {
  it("tells by the client's token where a turn is, in numbers that grow", () => {
    const { progress, sent } = create({ token: "t" });
    progress.onProgress?.(waiting(2));
    progress.onProgress?.(waiting(1));
    progress.onProgress?.(RUNNING);

    expect(sent).toEqual([
      toNotification("t", 1, "code-reviewer: waiting, 2nd in line"),
      toNotification("t", 2, "code-reviewer: waiting, 1st in line"),
      toNotification("t", 3, "code-reviewer: running"),
    ]);
  });

  it("takes 0 and the empty text for tokens, and tells nobody without one", () => {
    const told = [0, "", undefined].map((token) => {
      const { progress, sent } = create({ token });
      progress.onProgress?.(RUNNING);
      return sent.length;
    });

    expect(told).toEqual([1, 1, 0]);
  });

  it("sends nothing after the answer", () => {
    const { progress, sent } = create({ token: 1 });
    progress.onProgress?.(RUNNING);
    progress.end();
    progress.onProgress?.(RUNNING);

    expect(sent).toHaveLength(1);
  });

  it("leaves out what does not fit into the pipe at once", () => {
    const { pipe, progress, sent } = create({ token: 1 });
    pipe.isFull = true;
    progress.onProgress?.(waiting(1));
    pipe.isFull = false;
    progress.onProgress?.(RUNNING);

    expect(sent).toEqual([toNotification(1, 1, "code-reviewer: running")]);
  });

  it("waits for nobody, and survives a client that went away", async () => {
    let tries = 0;
    const { onProgress } = createProgress({
      token: 1,
      isFull: () => false,
      send: () => (++tries === 1 ? Promise.reject(new Error("Not connected")) : new Promise(() => undefined)),
    });
    onProgress?.(waiting(2));
    onProgress?.(waiting(1));
    onProgress?.(RUNNING);
    await new Promise((resolve) => setImmediate(resolve));

    expect(tries).toBe(3);
  });

  it.each([
    [1, "1st"],
    [2, "2nd"],
    [3, "3rd"],
    [4, "4th"],
    [11, "11th"],
    [12, "12th"],
    [13, "13th"],
    [21, "21st"],
    [102, "102nd"],
    [111, "111th"],
  ])("writes the place %i as %s", (position, text) => {
    const { progress, sent } = create({ token: 1 });
    progress.onProgress?.(waiting(position));

    expect(sent).toEqual([toNotification(1, 1, `code-reviewer: waiting, ${text} in line`)]);
  });
});

function create({ token }: { readonly token: string | number | undefined }) {
  const sent: ServerNotification[] = [];
  const pipe = { isFull: false };
  const send = async (notification: ServerNotification): Promise<void> => void sent.push(notification);
  return { sent, pipe, progress: createProgress({ token, send, isFull: () => pipe.isFull }) };
}

function waiting(position: number): TurnProgress {
  return { ...OF, phase: "waiting", position };
}

function toNotification(progressToken: string | number, progress: number, message: string): ServerNotification {
  return { method: "notifications/progress", params: { progressToken, progress, message } };
}
