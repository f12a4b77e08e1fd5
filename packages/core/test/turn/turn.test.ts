import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { TurnProgress } from "@budgie/core/protocol";
import { createTurn } from "../helpers/create-turn.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

it("A turn's phase lasts from its start, whatever the turn reports during it", async () => {
  const reports: TurnProgress[] = [];
  const turn = await createTurn();
  const { session } = turn;
  turn.events.on("phase", (report) => void reports.push(report));
  Object.assign(turn, { session: undefined });
  const later = (): void => void vi.advanceTimersByTime(1000);

  turn.enter({ phase: "waiting", position: 2 });
  later();
  turn.enter({ phase: "waiting", position: 1 });
  later();
  turn.enter({ phase: "starting" });
  later();
  turn.session = session;
  turn.enter({ phase: "starting" });
  later();
  turn.enter({ phase: "running", attempt: 1 });
  later();
  turn.enter({ phase: "running", attempt: 2 });

  const [begun = 0] = reports.map(({ sinceMs }) => sinceMs);
  expect(reports.map(({ sinceMs }) => sinceMs - begun)).toEqual([0, 0, 2000, 2000, 4000, 4000]);
  expect(reports.map(({ sessionId }) => sessionId)).toEqual([
    undefined,
    undefined,
    undefined,
    session.id,
    session.id,
    session.id,
  ]);
});
