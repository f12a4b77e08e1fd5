import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import type { AttemptOptions, Lab } from "../../src/lab/lab.ts";
import { attemptTogether } from "../../src/probe/attempt-together.ts";
import type { Probe, Verdict } from "../../src/probe/claim.ts";
import { inPerl, inSandbox } from "../../src/probe/in-sandbox.ts";

/** A lab whose turns run on this machine, and what was asked of it. */
function createLab() {
  const turns: { readonly script: string; readonly options: AttemptOptions }[] = [];
  let directories = 0;
  const lab: Pick<Lab, "makeDirectory" | "run"> = {
    makeDirectory: async () => `/directory-${(directories += 1)}`,
    async run([file, ...args], options = {}) {
      turns.push({ script: args.join(" "), options });
      const { stdout, stderr } = spawnSync(file, args, { input: "", encoding: "utf8" });
      return { stdout, stderr, exit: { exitCode: 0, signal: undefined, reason: undefined, oomKilled: false } };
    },
  };
  return { lab: lab as Lab, turns };
}

function toNames(verdicts: ReadonlyMap<Probe, Verdict>) {
  return [...verdicts].map(([{ name }, verdict]) => [name, verdict]);
}

it("one turn runs the programs of probes, and those without a verdict are left for turns of their own", async () => {
  const { lab, turns } = createLab();
  const [first, second] = [
    [inSandbox("quote", `said="it's refused"; held "$said"`), inSandbox("end early", "exit 3")],
    [
      inSandbox("give up", 'untried "there is none"'),
      inPerl("get through", "through('$5');"),
      inSandbox("be killed", "held", { silent: () => undefined }),
      inSandbox("prepare in vain", () => Promise.reject(new Error("no file"))),
      { name: "call", attempt: () => Promise.reject(new Error("not made")) },
    ],
  ];

  const verdicts = await attemptTogether(lab, [{ probes: first }, { probes: second }]);

  expect(turns).toMatchObject([{ options: { limitMs: 4 * 15_000 } }]);
  expect(toNames(verdicts)).toEqual([
    ["quote", { outcome: "held", detail: "it's refused" }],
    ["get through", { outcome: "got-through", detail: "$5" }],
  ]);
});

it("probes whose turns differ, or are too long for one argument, share none", async () => {
  const { lab, turns } = createLab();
  const inDirectory = async ({ makeDirectory }: Lab) => ({ directory: await makeDirectory(), script: "held" });
  const long = `held # ${"x".repeat(70_000)}`;

  const verdicts = await attemptTogether(lab, [
    { probes: [inSandbox("a", inDirectory), inSandbox("b", inDirectory), inSandbox("c", "held", { env: { A: "b" } })] },
    { probes: [inSandbox("d", inDirectory), inSandbox("e", long), inSandbox("f", long)] },
  ]);

  expect(toNames(verdicts).map(([name]) => name)).toEqual(["a", "b", "c", "d", "e", "f"]);
  expect(turns.map(({ options }) => options.directory ?? options.env ?? "none")).toEqual([
    "/directory-1",
    { A: "b" },
    "/directory-2",
    "none",
    "none",
  ]);
});

it("a turn that fails leaves all probes for turns of their own", async () => {
  const run: Lab["run"] = () => Promise.reject(new Error("the engine went away"));

  expect(await attemptTogether({ run } as Lab, [{ probes: [inSandbox("end", "held")] }])).toEqual(new Map());
});
