import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createLeftWatch, type LeftChanges } from "@budgie/core/turn";
import type { Script } from "./helpers/scripted-agent.ts";
import { create, lastOf } from "./helpers/warm-place.ts";

describe("the report of a turn whose agent lives on", () => {
  it("has the network access and the disk use since the turn before", async () => {
    const web = { host: "web.test", port: 443, count: 1 };
    const nothing = { allowed: [], denied: [] };
    const reports = [{ ...nothing, allowed: [web] }];
    const { ask } = create({
      facts: {
        egress: async () => reports.shift() ?? nothing,
        disk: async () => ({ homeBytes: 7, grownBytes: 2 }),
      },
    });

    const first = await ask();
    expect(first).toMatchObject({ egress: { allowed: [web] }, disk: { homeBytes: 7, grownBytes: 2 } });
    expect((await ask({ sessionId: first.sessionId })).egress).toEqual(nothing);
  });

  it.each([true, false])(
    "has the tokens and the cost since the turn before, in the same process: %s",
    async (isWarm) => {
      let total = 0;
      const script: Script = {
        "session/prompt": (_params, side) => {
          total += 15;
          const cost = { amount: total / 100, currency: "USD" };
          side.update({ sessionUpdate: "usage_update", used: 7, size: 10, cost });
          side.say("Hello.");
          return { stopReason: "end_turn", usage: { inputTokens: total, outputTokens: 0, totalTokens: total } };
        },
      };
      const { ask } = create({ script, isWarm, tokenBasis: "thread" });

      const first = await ask();
      const second = await ask({ sessionId: first.sessionId });

      const usage = {
        basis: "thread",
        inputTokens: 15,
        outputTokens: 0,
        totalTokens: 15,
        cost: { amount: 0.15, currency: "USD" },
        contextUsed: 7,
        contextSize: 10,
      };
      expect([first.usage, second.usage]).toEqual([usage, usage]);
    },
  );

  it("has the executable files that an agent changed that was ended at once", async () => {
    const { ask, place } = create({ warm: { isMemoryShort: () => true } });
    const { sessionId } = await ask();

    mkdirSync(join(place.directory, ".vscode"));
    writeFileSync(join(place.directory, ".vscode/tasks.json"), "{}");

    expect(await ask({ sessionId })).toMatchObject({ changedExecutablePaths: [".vscode/tasks.json"] });
  });

  it("has the executable files that changed between the turns, once", async () => {
    const { ask, place } = create();
    const { sessionId } = await ask();

    mkdirSync(join(place.directory, ".vscode"));
    writeFileSync(join(place.directory, ".vscode/tasks.json"), "{}");
    const second = await ask({ sessionId });

    expect(second).toMatchObject({
      changedExecutablePaths: [".vscode/tasks.json"],
      warnings: [expect.stringMatching(/^"\.vscode\/tasks\.json" changed before this turn/)],
    });
    expect(await ask({ sessionId })).toMatchObject({ changedExecutablePaths: [], warnings: [] });
  });
});

describe("an agent that changes an executable file after its last turn, and then ends", () => {
  async function changeAndEnd({ changes }: { readonly changes: boolean }) {
    const told: LeftChanges[] = [];
    const leftWatch = createLeftWatch((change) => void told.push(change));
    const { agent, ask, place } = create({ dependencies: { leftWatch } });
    await ask();
    if (changes) mkdirSync(join(place.directory, ".vscode"));
    if (changes) writeFileSync(join(place.directory, ".vscode/tasks.json"), "{}");
    lastOf(agent).exit({ exitCode: 0 });
    await nextTurn();
    await leftWatch.settled();
    return { ask, leftWatch, told };
  }

  it("is reported at once, listed until a result tells it, and told by the directory's next result", async () => {
    const { ask, leftWatch, told } = await changeAndEnd({ changes: true });
    expect(told).toMatchObject([{ agent: "coder", paths: [".vscode/tasks.json"] }]);
    expect(leftWatch.list()).toEqual(told);

    expect(await ask()).toMatchObject({
      changedExecutablePaths: [".vscode/tasks.json"],
      warnings: [
        expect.stringMatching(/^A process of the agent "coder" changed .* after its last turn had ended: "\.vscode/),
      ],
    });
    expect(leftWatch.list()).toEqual([]);
    expect(await ask()).toMatchObject({ changedExecutablePaths: [], warnings: [] });
  });

  it("is told nothing of if it changed none", async () => {
    const { ask, told } = await changeAndEnd({ changes: false });

    expect(await ask()).toMatchObject({ changedExecutablePaths: [], warnings: [] });
    expect(told).toEqual([]);
  });
});
