import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import type { Lab } from "../../src/lab/lab.ts";
import { attemptTogether } from "../../src/probe/attempt-together.ts";
import { inPerl, inSandbox } from "../../src/probe/in-sandbox.ts";

it("one turn runs the programs of probes, and those without a verdict are left for turns of their own", async () => {
  const turns: string[] = [];
  const run: Lab["run"] = async ([file, ...args]) => {
    turns.push(args.join(" "));
    const { stdout, stderr } = spawnSync(file, args, { input: "", encoding: "utf8" });
    return { stdout, stderr, exit: { exitCode: 0, signal: undefined, reason: undefined, oomKilled: false } };
  };

  const verdicts = await attemptTogether({ run } as Lab, [
    inSandbox("quote", `said="it's refused"; held "$said"`),
    inSandbox("end early", "exit 3"),
    inSandbox("give up", 'untried "there is none"'),
    inPerl("get through", "through('$5');"),
    inSandbox("use an environment", "through", { env: { A: "b" } }),
    inSandbox("use less", () => ({ script: "through", access: { workspace: "ro" } })),
    inSandbox("prepare in vain", () => Promise.reject(new Error("no file"))),
    { name: "call", attempt: () => Promise.reject(new Error("not made")) },
  ]);

  expect(turns).toHaveLength(1);
  expect([...verdicts]).toEqual([
    ["quote", { outcome: "held", detail: "it's refused" }],
    ["get through", { outcome: "got-through", detail: "$5" }],
  ]);
});

it("a turn that fails leaves all probes for turns of their own", async () => {
  const run: Lab["run"] = () => Promise.reject(new Error("the engine went away"));

  expect(await attemptTogether({ run } as Lab, [inSandbox("end", "held")])).toEqual(new Map());
});
