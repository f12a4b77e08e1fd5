import { describe, expect, it } from "vitest";
import type { FinishedRun } from "@budgie/core/runs";
import { createMemoryRunLog } from "../../../src/runs/memory-run-log.ts";
import { logRun } from "../../../src/turn/steps/log-run.ts";
import { createTurn } from "../../helpers/create-turn.ts";

describe("the transcript of a turn", () => {
  it("is the end of what its agent printed, on both streams, if the log keeps it", async () => {
    const { transcript } = await record({ keepsTranscripts: true }, ["I look.\n", "x".repeat(300_000), "Done."]);

    expect(transcript).toMatch(/^\[budgie: \d+ bytes before this are not kept\]\nx+Done\.$/);
    expect(Buffer.byteLength(transcript ?? "")).toBeLessThan(257 * 1024);
    expect((await record({ keepsTranscripts: true }, ["I look."])).transcript).toBe("I look.");
  });

  it("is missing if the agent printed nothing, or the log does not keep it", async () => {
    expect(await record({ keepsTranscripts: true }, [])).not.toHaveProperty("transcript");
    expect(await record({}, ["I look."])).not.toHaveProperty("transcript");
  });
});

async function record(log: { readonly keepsTranscripts?: boolean }, printed: readonly string[]): Promise<FinishedRun> {
  const runs: FinishedRun[] = [];
  const turn = await createTurn({});
  const step = logRun({ runLog: { ...createMemoryRunLog(), ...log, finish: async (run) => void runs.push(run) } });
  await step(turn, async () => {
    for (const [index, text] of printed.entries()) {
      turn.events.emit("output", Buffer.from(text), index === 0 ? "stderr" : "stdout");
    }
    return { response: "Done.", file: undefined, exit: {} as never, denied: [], warnings: [] };
  });
  const [run] = runs;
  if (run === undefined) throw new TypeError("The turn was not recorded.");
  return run;
}
