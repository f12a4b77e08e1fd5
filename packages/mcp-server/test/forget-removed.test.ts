import { expect, it } from "vitest";
import { createSessionId, type GcItem, type SessionId } from "@budgie/core";
import { forgetRemoved } from "../src/forget-removed.ts";

it("strikes off the sessions of which nothing is left, and no others", async () => {
  const [gone, half, kept] = [createSessionId(), createSessionId(), createSessionId()];
  const item = (session: string | undefined): GcItem => ({ kind: "volume", name: "x", session });
  const why = "it is in use";
  const struckOff: SessionId[] = [];
  const register = {
    save: async () => undefined,
    find: async () => undefined,
    list: async () => [],
    pass: async () => false,
    remove: async (id: SessionId) => void struckOff.push(id),
  };

  await forgetRemoved(
    {
      removed: [item(gone), item(gone), item(half), item(undefined), item("no id")],
      kept: [{ ...item(kept), why }],
      failed: [{ ...item(half), why }],
    },
    register,
  );

  expect(struckOff).toEqual([gone]);
});
