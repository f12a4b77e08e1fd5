import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createRunTurn } from "@budgie/core";
import type { Isolation } from "@budgie/core/owners";
import type { Policy } from "@budgie/core/policy";
import { TurnEvents } from "@budgie/core/protocol";
import type { FinishedRun } from "@budgie/core/runs";
import { createFakeRunner } from "@budgie/testkit";
import { createMemoryRunLog } from "../../../src/runs/memory-run-log.ts";
import { AGENT } from "../../helpers/agent.ts";
import { createTemporaryFolder } from "../../helpers/temporary-folder.ts";

const OTHER = { ...AGENT, name: "other" };

describe("two turns at the same time in one directory", () => {
  it("are reported in both answers and in the run log", async () => {
    const { finished, runTogether } = create();

    const [first, second] = await runTogether();

    expect(first.others).toEqual([{ runId: second.runId, agent: "other" }]);
    expect(second.others).toEqual([{ runId: first.runId, agent: "tester" }]);
    expect(first.warnings).toEqual([expect.stringMatching(/^Other turns ran in this directory, .*: of "other"\. /)]);
    expect(second.warnings).toEqual([expect.stringMatching(/: of "tester"\. /)]);
    expect(finished.map(({ id, others }) => [id, others])).toEqual([
      [first.runId, first.others],
      [second.runId, second.others],
    ]);
  });

  it("are reported if one works on a folder of the other's directory", async () => {
    const { runTogether } = create({ below: "src" });

    expect((await runTogether()).map(({ others = [] }) => others.length)).toEqual([1, 1]);
  });

  it("are reported if only one of them may write", async () => {
    const { runTogether } = create({ isolation: "container", workspaces: ["ro", "rw"] });

    expect((await runTogether()).map(({ others = [] }) => others.length)).toEqual([1, 1]);
  });

  it("are not reported if a sandbox lets neither write", async () => {
    const { runTogether } = create({ isolation: "container", workspaces: ["ro", "ro"] });

    expect((await runTogether()).map(({ others, warnings }) => [others, warnings])).toEqual([
      [undefined, []],
      [undefined, []],
    ]);
  });
});

it("Turns at the same time in two directories, and one after the other in one, report nothing", async () => {
  const apart = create({ below: "../beside" });
  const { runAlone } = create();

  expect((await apart.runTogether()).flatMap(({ others = [] }) => others)).toEqual([]);
  expect([await runAlone("tester"), await runAlone("other")].flatMap(({ others = [] }) => others)).toEqual([]);
});

type Oddities = {
  readonly isolation?: Isolation;
  /** The directory of the second turn, from that of the first */
  readonly below?: string;
  readonly workspaces?: readonly [Policy["workspace"], Policy["workspace"]];
};

/** Creates turns of two agents; the first ends only after the second has. */
function create({ below = ".", isolation = "none", workspaces = ["rw", "rw"] }: Oddities = {}) {
  const directory = join(createTemporaryFolder(), "project");
  for (const path of [directory, join(directory, below)]) mkdirSync(path, { recursive: true });
  const finished: FinishedRun[] = [];
  let end = (): void => undefined;
  const ended = new Promise<object>((resolve) => (end = () => resolve({})));
  let isWaiting = true;
  const runner = createFakeRunner(() => (isWaiting ? ended : {}));
  const runTurn = createRunTurn({
    agents: () => [AGENT, OTHER],
    runner: { ...runner, capacity: { cpus: 8, memoryBytes: 2 ** 34 }, isolation },
    protocol: async ({ directory: cwd, session }) => {
      const child = await session.start({ argv: ["x"], env: {}, projections: [] }, { directory: cwd, input: "" });
      return { response: "done", file: undefined, exit: await child.exit, denied: [], warnings: [] };
    },
    policyOf: (agent) => ({
      workspace: workspaces[agent === "other" ? 1 : 0],
      egress: { mode: "none", hosts: [] },
      limits: {},
      timeoutMs: 10_000,
    }),
    workspaceRules: { allowedRoots: [], guarded: undefined },
    runLog: { ...createMemoryRunLog(), finish: async (run) => void finished.push(run) },
  });
  const runAlone = (agent: string) => {
    end();
    return runTurn({ agent, prompt: "x", directory });
  };

  async function runTogether() {
    const running = new TurnEvents();
    const begun = new Promise<void>((resolve) => {
      running.on("phase", ({ phase }) => phase === "running" && resolve());
    });
    const first = runTurn({ agent: "tester", prompt: "x", directory }, { events: running });
    await begun;
    isWaiting = false;
    const both = new TurnEvents().on("exit", end);
    const second = runTurn({ agent: "other", prompt: "x", directory: join(directory, below) }, { events: both });
    return Promise.all([first, second]);
  }

  return { finished, runAlone, runTogether };
}
