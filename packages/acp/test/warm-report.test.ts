import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { create } from "./helpers/warm-place.ts";

describe("the report of a turn whose agent lives on", () => {
  it("has the network access and the disk use since the turn before", async () => {
    const [web, other] = ["web.test", "other.test"].map((host) => ({ host, port: 443, count: 1 }));
    const reports = [[web], [], [other]].map((allowed) => ({ allowed: allowed as (typeof web & {})[], denied: [] }));
    const { ask, place } = create({
      facts: {
        takeEgress: async () => reports.shift() ?? { allowed: [], denied: [] },
        egress: Promise.resolve({ allowed: [{ host: "late.test", port: 443, count: 1 }], denied: [] }),
        takeDisk: async () => ({ homeBytes: 7, grownBytes: 2 }),
      },
    });

    const first = await ask();
    const { sessionId } = first;
    expect(first).toMatchObject({ egress: { allowed: [web] }, disk: { homeBytes: 7, grownBytes: 2 } });
    expect((await ask({ sessionId })).egress).toEqual({ allowed: [], denied: [] });

    place.env = { KEY: "2" };
    expect((await ask({ sessionId })).egress).toEqual({ allowed: [{ ...web, host: "late.test" }, other], denied: [] });
  });

  it("has the network access of an agent that ended between the turns", async () => {
    const late = { host: "late.test", port: 443, count: 1 };
    const nothing = { allowed: [], denied: [] };
    const { agent, ask } = create({
      warm: { isMemoryShort: () => agent.processes.length === 1 },
      facts: { takeEgress: async () => nothing, egress: Promise.resolve({ ...nothing, allowed: [late] }) },
    });
    const { sessionId } = await ask();

    expect((await ask({ sessionId })).egress).toEqual({ allowed: [late], denied: [] });
  });

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
