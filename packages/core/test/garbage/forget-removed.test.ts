import { expect, it } from "vitest";
import { createSessionId, type GcItem, type Owner, type SessionId } from "@budgie/core";
import type { RegisterEntry } from "@budgie/core/sessions";
import { forgetRemoved } from "../../src/garbage/sweep-garbage.ts";

const EMPTY = {
  save: async () => undefined,
  find: async () => undefined,
  list: async () => [],
  pass: async () => false,
};
const NOBODY: Pick<Owner, "stateOf"> = { stateOf: async () => "dead" };

it("removes register entries of sessions that cannot be resumed any more, such as those removed by another state directory's budgie", async () => {
  const hourMs = 3_600_000;
  const ids = {
    ended: await survives("dead", { keepMs: undefined }),
    over: await survives("dead", { keepMs: hourMs / 2 }),
    kept: await survives("dead", { keepMs: 2 * hourMs }),
    live: await survives("live", { keepMs: undefined }),
    foreign: await survives("foreign", { keepMs: undefined }),
    leftOver: await survives("dead", { keepMs: undefined }, "kept"),
  };

  expect(ids).toEqual({ ended: false, over: false, kept: true, live: true, foreign: true, leftOver: true });

  async function survives(
    state: "dead" | "live" | "foreign",
    over: Pick<RegisterEntry, "keepMs">,
    garbage?: "kept",
  ): Promise<boolean> {
    const session: RegisterEntry = {
      id: createSessionId(),
      agent: "tester",
      directory: "/project",
      isolation: "none",
      begun: true,
      createdMs: Date.now() - hourMs,
      usedMs: Date.now() - hourMs,
      owner: { instance: "x", host: "y", lock: "/z" },
      ...over,
    };
    const entries = new Map([[session.id, session]]);
    const register = {
      ...EMPTY,
      list: async () => [...entries.values()],
      remove: async (id: SessionId) => void entries.delete(id),
    };
    const kept =
      garbage === undefined ? [] : [{ kind: "volume", name: "x", session: session.id, why: "in use" } as const];
    await forgetRemoved({ removed: [], kept, failed: [] }, register, { stateOf: async () => state });
    return entries.has(session.id);
  }
});

it("removes register entries of sessions with nothing left, and no others", async () => {
  const [gone, half, kept] = [createSessionId(), createSessionId(), createSessionId()];
  const item = (session: string | undefined): GcItem => ({ kind: "volume", name: "x", session });
  const why = "it is in use";
  const removed: SessionId[] = [];
  const register = {
    ...EMPTY,
    // Fails like a broken database.
    list: () => Promise.reject(new Error("broken")),
    remove: async (id: SessionId) => void removed.push(id),
  };

  await forgetRemoved(
    {
      removed: [item(gone), item(gone), item(half), item(undefined), item("no id")],
      kept: [{ ...item(kept), why }],
      failed: [{ ...item(half), why }],
    },
    register,
    NOBODY,
  );

  expect(removed).toEqual([gone]);
});
