import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { TurnProgress } from "@budgie/core";
import { trackTurn } from "../../src/turn/turn-progress.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

it("A turn's phase lasts from its start, whatever the turn reports during it", () => {
  const reports: TurnProgress[] = [];
  const hooks = { runId: "r", onProgress: (report: TurnProgress) => void reports.push(report) };
  const { inSession, onPhase } = trackTurn(hooks, { agent: "tester", sessionId: undefined });
  const later = (): void => void vi.advanceTimersByTime(1000);

  onPhase({ phase: "waiting", position: 2 });
  later();
  onPhase({ phase: "waiting", position: 1 });
  later();
  onPhase({ phase: "starting" });
  later();
  inSession("s");
  later();
  onPhase({ phase: "running", attempt: 1 });
  later();
  onPhase({ phase: "running", attempt: 2 });

  const [begun = 0] = reports.map(({ sinceMs }) => sinceMs);
  expect(reports.map(({ sinceMs }) => sinceMs - begun)).toEqual([0, 0, 2000, 2000, 4000, 4000]);
  expect(reports.map(({ sessionId }) => sessionId)).toEqual([undefined, undefined, undefined, "s", "s", "s"]);
});
