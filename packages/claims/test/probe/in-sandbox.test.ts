import { describe, expect, it } from "vitest";
import type { Exit } from "@budgie/core";
import type { Verdict } from "../../src/probe/claim.ts";
import { inPerl, inSandbox, type ScriptOptions } from "../../src/probe/in-sandbox.ts";
import type { Ran } from "../../src/lab/collect.ts";
import type { Lab } from "../../src/lab/lab.ts";
import { attempt } from "../../src/prove.ts";

const ENDED: Exit = { exitCode: 0, signal: undefined, reason: undefined, oomKilled: false };

describe("the verdict on a script", () => {
  it.each([
    ["held", "held no", { outcome: "held", detail: "no" }],
    ["got-through", "got-through a key: x=y", { outcome: "got-through", detail: "a key: x=y" }],
    ["untried", "untried the image has no perl", { outcome: "untried", detail: "the image has no perl" }],
    ["held without a reason", "held", { outcome: "held", detail: "" }],
  ])("is the reported one: %s", async (_, line, verdict) => {
    expect(await judge((nonce) => `noise\n${nonce} ${line}\nnoise\n`)).toEqual(verdict);
  });

  it.each<[string, (nonce: string) => string]>([
    ["says nothing", () => ""],
    ["reports without the mark", () => "held no\nreport-1 held no\n"],
    ["reports twice", (nonce) => `${nonce} held one\n${nonce} held two\n`],
    ["reports both ways", (nonce) => `${nonce} held one\n${nonce} got-through two\n`],
    ["reports something else", (nonce) => `${nonce} fine\n`],
    ["reports in the middle of a line", (nonce) => `so ${nonce} held no\n`],
  ])("is never held when the script %s", async (_, print) => {
    expect(await judge(print)).toMatchObject({ outcome: "untried" });
  });

  it("comes from the turn's exit if the probe says so and nothing was reported", async () => {
    const silent = ({ exit }: Ran): Verdict | undefined =>
      exit.oomKilled ? { outcome: "held", detail: "killed" } : undefined;
    const exit: Exit = { ...ENDED, exitCode: undefined, signal: "SIGKILL", oomKilled: true };

    expect(await judge(() => "", { silent }, exit)).toEqual({ outcome: "held", detail: "killed" });
    expect(await judge((nonce) => `${nonce} got-through all\n`, { silent }, exit)).toMatchObject({
      outcome: "got-through",
    });
    expect(await judge(() => "", { silent })).toMatchObject({ outcome: "untried" });
  });

  it("is untried when the turn could not run", async () => {
    const lab = toLab(() => Promise.reject(new Error("no engine")));

    expect(await attempt(lab, inPerl("do harm", "1;"))).toEqual({ outcome: "untried", detail: "no engine" });
  });
});

function judge(print: (nonce: string) => string, options: ScriptOptions = {}, exit = ENDED): Promise<Verdict> {
  const lab = toLab((argv) => Promise.resolve({ stdout: print(argv[4] ?? ""), stderr: "", exit }));
  return attempt(lab, inSandbox("do harm", "true", options));
}

/** Returns the part of a lab that a script needs. */
function toLab(run: Lab["run"]): Lab {
  return { run } as Lab;
}
