import { describe, expect, it, vi } from "vitest";
import { BudgieError } from "@budgie/core";
import { askPod } from "../../src/session/ask-pod.ts";
import { keepConnected } from "../../src/session/keep-connected.ts";
import { createWire } from "../../src/wire/index.ts";
import { connectPair, type Pair } from "../helpers/connect-pair.ts";

const NEVER = new AbortController().signal;

/** Connects to a Pod that answers each request with a value. */
async function connect(
  answer: Readonly<Record<string, unknown>>,
  findEnd?: (failure: Error) => Promise<BudgieError | undefined>,
) {
  const pod = createWire({
    side: "pod",
    onStream: (stream) => {
      stream.input.resume();
      stream.end(answer);
    },
  });
  const pairs: Pair[] = [];
  const openBridge = vi.fn(async () => {
    const pair = connectPair();
    pairs.push(pair);
    pod.attach(pair.pod);
    return pair.budgie;
  });
  const judge = findEnd === undefined ? {} : { findEnd: (failure: unknown) => findEnd(failure as Error) };
  const wire = await keepConnected({ openBridge, onStream: () => undefined, ...judge }, NEVER);
  return { wire, pairs, openBridge };
}

describe("a wire that is kept connected", () => {
  it("goes on over another bridge when one breaks", async () => {
    const { openBridge, pairs, wire } = await connect({ ok: true });

    openBridge.mockRejectedValueOnce(new Error("away"));
    pairs[0]?.pod.destroy();

    await expect(askPod(wire, { purpose: "control", ask: "usage" })).resolves.toEqual({ ok: true });
    expect(openBridge).toHaveBeenCalledTimes(3);
    wire.close();
  });

  it("ends at once for the reason that no other bridge will open, and tries again if that cannot be found out", async () => {
    const { openBridge, pairs, wire } = await connect({ ok: true }, async ({ message }) => {
      if (message === "away") throw new Error("nobody answers");
      return message === "refused" ? new BudgieError("CONFIG_INVALID", "Forbidden.") : undefined;
    });
    for (const why of ["away", "broken", "refused"]) openBridge.mockRejectedValueOnce(new Error(why));
    pairs[0]?.pod.destroy();

    expect(await wire.ended).toMatchObject({ code: "CONFIG_INVALID" });
    expect(openBridge).toHaveBeenCalledTimes(4);
    expect(() => wire.open({ purpose: "control" })).toThrow("Forbidden.");
  });

  it("fails if the first bridge cannot be opened", async () => {
    const openBridge = async () => Promise.reject(new Error("no Pod"));

    await expect(keepConnected({ openBridge, onStream: () => undefined }, NEVER)).rejects.toThrow("no Pod");
  });

  it("passes on an error of the Pod, with a code that budgie knows and words without controls", async () => {
    const { wire } = await connect({ error: { code: "toString", message: "bad\u001b[2J" } });

    const asking = askPod(wire, { purpose: "control", ask: "usage" });

    await expect(asking).rejects.toMatchObject({ code: "RUNNER_UNAVAILABLE" });
    await expect(asking).rejects.not.toThrow("\u001b");
    wire.close();
  });

  it.each([{}, { message: "" }, { message: 7 }, "text"])(
    "says what to do about an error of the Pod like %j",
    async (error) => {
      const { wire } = await connect({ error });
      await expect(askPod(wire, { purpose: "control", ask: "usage" })).rejects.toThrow(/did not report why\. Check /);
      wire.close();
    },
  );
});
