import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createOwner } from "@budgie/core";
import type { OwnerAnswer } from "@budgie/core/owners";
import { findLiveRun, findLiveRuns, type FoundRuns } from "../../../src/commands/run/find-live-runs.ts";
import { runCli } from "../../../src/run-cli.ts";
import type { LiveRun } from "@budgie/core/live";
import { toSilentHost } from "../../helpers/to-silent-host.ts";

const NOTHING = { sessions: 0, turns: 0 };

describe("findLiveRuns", () => {
  it("sums up what all budgies keep ready", async () => {
    const place = createPlace();
    await place.hold("container", async (_, { send }) => send({ runs: [], ahead: { sessions: 1, turns: 2 } }));
    await place.hold("container", async (_, { send }) => send({ runs: [], ahead: { sessions: 0, turns: 3 } }));
    await place.hold("none", answering());

    expect((await place.find()).ahead).toEqual({ sessions: 1, turns: 5 });
  });

  it("has what changed after agents' last turns in all budgies, which ps reports", async () => {
    const place = createPlace();
    const left = { agent: "coder", directory: "/project", paths: [".vscode/tasks.json\u001B[2J"] };
    await place.hold("container", async (_, { send }) => send({ runs: [], left: [left] }));
    await place.hold("none", answering());
    const reports: string[] = [];
    const host = toSilentHost({ home: place.stateDir, cwd: place.stateDir, report: (line) => void reports.push(line) });

    await runCli(["ps", "--state-dir", place.stateDir], host);

    expect((await place.find()).left).toEqual([left]);
    expect(reports).toEqual([
      expect.stringMatching(/^\/project: A process of the agent "coder" changed .*tasks\.json/),
    ]);
    expect(reports[0]).not.toContain("\u001B");
  });

  it("asks all budgies of the state directory, and lists the oldest turn first", async () => {
    const place = createPlace();
    await place.hold("container", answering(toRun("b", 2)));
    await place.hold("none", answering(toRun("a", 1), toRun("c", 3)));

    const { runs, silent } = await place.find();

    expect(runs.map(({ runId }) => runId)).toEqual(["a", "b", "c"]);
    expect(silent).toEqual([]);
  });

  it("lists none of a budgie that answers no requests, and reports one that answers with something else", async () => {
    const place = createPlace();
    await place.hold("none", undefined);
    const strange = await place.hold("none", async (_, { send }) => send({ runs: [{ runId: 1 }] }));

    expect(await place.find()).toEqual({ runs: [], silent: [strange.record], ahead: NOTHING, left: [] });
  });

  it("reports a budgie that is alive and does not answer", async () => {
    const place = createPlace();
    const stuck = await place.hold("none", () => new Promise(() => undefined));

    expect(await place.find(50)).toEqual({ runs: [], silent: [stuck.record], ahead: NOTHING, left: [] });
  });
});

describe("findLiveRun", () => {
  const found = { silent: [], runs: ["aab", "aac", "b"].map((id) => ({ ...toRun(id, 0) })) } as unknown as FoundRuns;

  it("finds a run by the beginning of its id, if no other begins like this", () => {
    expect(findLiveRun(found, "aab").runId).toBe("aab");
    expect(findLiveRun(found, "b").runId).toBe("b");
  });

  it.each([
    ["aa", /^The ids of several turns begin with "aa", such as "aab", "aac"\./],
    ["", /^No turn "" runs now\. "budgie ps" lists/],
    ["c\u001B[2J", /^No turn "c\\u001b\[2J" runs now/],
  ])("refuses %j", (id, message) => {
    expect(() => findLiveRun(found, id)).toThrow(message);
  });
});

function toRun(runId: string, startedMs: number): LiveRun {
  return { runId, agent: "reader", directory: "/project", isolation: "none", startedMs, phase: "starting" };
}

function answering(...runs: readonly LiveRun[]): OwnerAnswer {
  return async (_, { send }) => send({ runs });
}

function createPlace() {
  const stateDir = mkdtempSync(join(tmpdir(), "budgie-live-"));
  onTestFinished(() => rmSync(stateDir, { recursive: true }));
  return {
    stateDir,
    find: (limitMs?: number) => findLiveRuns(createOwner({ stateDir }), limitMs),
    async hold(isolation: "container" | "none", answer: OwnerAnswer | undefined) {
      const owner = createOwner({ stateDir, isolation });
      if (answer !== undefined) owner.answer(answer);
      await owner.hold();
      onTestFinished(() => owner.release());
      return owner;
    },
  };
}
