import { describe, expect, it } from "vitest";
import type { KiroFacts } from "@budgie/protocols/kiro";
import { judgeKiros } from "../../../src/commands/doctor/judge-kiros.ts";

const BOTH = { hasV2: true, engines: ["v2", "v3"] } as const;
const NONE = { hasV2: false, engines: undefined };
const OLD: KiroFacts = { version: "2.9.0", chat: NONE, acp: NONE, runtimeProblem: "the image names none" };
const NEW: KiroFacts = { version: "2.37.0", chat: BOTH, acp: BOTH, runtimeProblem: undefined };
const LOCKED: KiroFacts = { ...NEW, runtimeProblem: "the image names none\u001b[2J" };
const V2 = { kiroHarness: "v2", sandbox: true, sandboxImage: "own:1" } as const;
const V3 = { ...V2, kiroHarness: "v3" } as const;

describe("judgeKiros", () => {
  it.each([
    [{ inImage: NEW, here: NEW }, "ok", "2.37.0 in the image (V2, V3), 2.37.0 here (V2, V3)"],
    [{ inImage: NEW, here: OLD }, "ok", "2.37.0 in the image (V2, V3), 2.9.0 here (V2)"],
    [{ inImage: NEW, here: undefined }, "ok", "2.37.0 in the image (V2, V3)"],
    [{ inImage: undefined, here: OLD }, "ok", "2.9.0 here (V2)"],
    [
      { inImage: { ...OLD, version: undefined }, here: NEW },
      "ok",
      "an unknown version in the image (V2), 2.37.0 here (V2, V3)",
    ],
    [
      { inImage: OLD, here: NEW },
      "note",
      "2.9.0 in the image (V2), 2.37.0 here (V2, V3): a new build would update the image",
    ],
  ])("compares %j", (kiros, state, text) => {
    expect(judgeKiros(kiros, V2)).toEqual([{ state, what: "kiro", text }]);
  });

  it("says nothing where there is no Kiro", () => {
    expect(judgeKiros({ inImage: undefined, here: undefined }, V3)).toEqual([]);
  });

  it("says why V3 does not run in an image that offers it, as a failure to who asks for it", () => {
    const kiros = { inImage: LOCKED, here: undefined };
    const text = "V3 does not run in the image: the image names none?[2J";

    expect(judgeKiros(kiros, V2)[1]).toEqual({ state: "note", what: "kiro", text });
    expect(judgeKiros(kiros, V3)[1]).toEqual({
      state: "failed",
      what: "kiro",
      text,
      todo: "budgie build-image    # then name budgie-sandbox:latest in place of own:1",
    });
    expect(judgeKiros(kiros, { ...V3, sandbox: false })[1]).toMatchObject({ state: "note" });
  });

  it("fails for an image that does not offer the V3 that is asked for", () => {
    expect(judgeKiros({ inImage: OLD, here: undefined }, V3)[1]).toMatchObject({
      state: "failed",
      text: "V3 does not run in the image: its kiro-cli lists no such harness in its help",
    });
    expect(judgeKiros({ inImage: OLD, here: undefined }, V2)).toHaveLength(1);
  });
});
