import { describe, expect, it } from "vitest";
import { stopProcess, toPodExit } from "../../src/session/stop-process.ts";

const KEPT = { isDiskFull: false, stopped: undefined };

describe("a process of a Pod", () => {
  it("is asked to end, and not killed if it does", async () => {
    const signals: string[] = [];
    let end: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => (end = resolve));

    await stopProcess({ ended, signal: async (name) => (signals.push(name), end()) }, "cancelled");

    expect(signals).toEqual(["TERM"]);
  });

  it("ended as the Pod says", () => {
    const end = { exitCode: 7, signal: undefined, oomKills: 0 };

    expect(toPodExit(end, KEPT)).toEqual({ exitCode: 7, signal: undefined, reason: undefined, oomKilled: false });
    expect(toPodExit({ ...end, exitCode: 125 }, KEPT)).toMatchObject({ reason: "command-not-found" });
    expect(toPodExit({ ...end, oomKills: 1 }, KEPT)).toMatchObject({ reason: "out-of-memory", oomKilled: true });
    expect(toPodExit({ ...end, exitCode: 0, oomKills: 1 }, KEPT)).toMatchObject({ reason: undefined });
    expect(toPodExit(end, { isDiskFull: true, stopped: undefined })).toMatchObject({ reason: "disk-limit" });
    expect(toPodExit(end, { isDiskFull: true, stopped: "timeout" })).toMatchObject({ reason: "timeout" });
  });
});
