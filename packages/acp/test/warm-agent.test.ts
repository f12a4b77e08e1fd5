import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { failureOf } from "./helpers/run.ts";
import type { Script } from "./helpers/scripted-agent.ts";
import { create, lastOf, POLICY, replaceFolder, type Place, type Side } from "./helpers/warm-place.ts";

describe("an agent between two turns of its session", () => {
  it("lives on, and goes on with its conversation", async () => {
    const { agent, ask } = create();

    const { sessionId } = await ask();
    const second = await ask({ sessionId });

    expect(second).toMatchObject({ response: "Hello.", warnings: [], sessionId });
    expect(agent.processes).toHaveLength(1);
    expect(agent.received.map(({ method }) => method)).toEqual([
      "initialize",
      "session/new",
      "session/prompt",
      "session/prompt",
    ]);
  });

  it("is not kept without an idle time, or with protected paths", async () => {
    for (const dependencies of [{ warm: undefined }, { protectExecutablePaths: true }]) {
      const { agent, ask } = create({ dependencies });
      await ask();
      expect(agent.processes[0]?.hasEnded()).toBe(true);
    }
  });

  it.each<[string, (place: Place) => void]>([
    ["may only read", (place) => (place.policy = { ...POLICY, workspace: "ro" })],
    ["reaches other hosts", (place) => (place.policy = { ...POLICY, egress: { mode: "allowlist", hosts: [] } })],
    ["has other limits", (place) => (place.policy = { ...POLICY, limits: { cpus: 1 } })],
    ["gets another variable", (place) => (place.env = { KEY: "2" })],
    ["sees another file of the user's", ({ given }) => writeFileSync(given, "two")],
    ["finds a definition that was not there", ({ directory }) => mkdirSync(join(directory, ".codex"))],
    ["works on another folder of that path", ({ directory }) => replaceFolder(directory)],
    ["is another agent of that name", (place) => (place.model = "opus")],
    ["has a new login", (place) => (place.isCurrent = false)],
  ])("ends, and another resumes its conversation, if the next turn %s", async (_what, change) => {
    const { agent, ask, place } = create();
    const { sessionId } = await ask();

    change(place);
    await ask({ sessionId });

    expect(agent.processes.map(({ hasEnded }) => hasEnded())).toEqual([true, false]);
    expect(agent.received.map(({ method }) => method)).toContain("session/load");
    expect(agent.received.filter(({ method }) => method === "session/new")).toHaveLength(1);
  });

  it.each<[string, (agent: Side) => void]>([
    ["crashed", (side) => side.exit({ signal: "SIGKILL", oomKilled: true, reason: "out-of-memory" })],
    ["closed its output", (side) => side.closeOutput()],
  ])("that %s costs the next turn a start only", async (_what, end) => {
    const { agent, ask } = create();
    const { sessionId } = await ask();

    end(lastOf(agent));

    expect(await ask({ sessionId })).toMatchObject({ response: "Hello.", retried: false, warnings: [] });
    expect(agent.processes).toHaveLength(2);
    expect(agent.received.filter(({ method }) => method === "session/prompt")).toHaveLength(2);
  });

  it("is heard by nobody, and is denied what it asks for", async () => {
    const { agent, ask } = create();
    const printed: string[] = [];
    const onOutput = (chunk: Buffer) => void printed.push(chunk.toString());
    const { sessionId } = await ask({}, { onOutput });
    const side = lastOf(agent);

    side.say("More.");
    const options = [{ optionId: "0", kind: "allow_once", name: "Yes" }];
    const request = { sessionId: "c1", options, toolCall: { toolCallId: "t", title: "Write" } };
    expect((await side.ask("session/request_permission", request))["result"]).toEqual({
      outcome: { outcome: "cancelled" },
    });

    expect(await ask({ sessionId }, { onOutput })).toMatchObject({ response: "Hello.", denied: [] });
    expect(printed).toEqual(["Hello.", "Hello."]);
    expect(agent.processes).toHaveLength(1);
  });

  it("is ended if it talks without end", async () => {
    const { agent, ask } = create();
    const { sessionId } = await ask();

    for (let piece = 0; piece < 20; piece++) agent.processes[0]?.agent.say("x".repeat(100_000));
    await expect.poll(() => agent.processes[0]?.hasEnded()).toBe(true);

    expect(await ask({ sessionId })).toMatchObject({ response: "Hello." });
  });

  it("ends when its idle time is over", async () => {
    const { agent, ask } = create({ warm: { idleMs: 1 } });
    const { sessionId } = await ask();

    await expect.poll(() => agent.processes[0]?.hasEnded()).toBe(true);

    expect(await ask({ sessionId })).toMatchObject({ response: "Hello." });
    expect(agent.received.map(({ method }) => method)).toContain("session/load");
  });

  it("ends when more wait than may, the one that waits longest first", async () => {
    const { agent, ask } = create({ warm: { most: 2 } });
    const first = await ask();
    await ask();
    await ask({ sessionId: first.sessionId });
    await ask();

    await expect.poll(() => agent.processes.map(({ hasEnded }) => hasEnded())).toEqual([false, true, false]);
  });

  it("ends when the machine is short of memory, at once or later", async () => {
    let isShort = true;
    const { agent, ask } = create({ warm: { isMemoryShort: () => isShort, lookEveryMs: 1 } });
    await ask();
    await expect.poll(() => agent.processes[0]?.hasEnded()).toBe(true);

    isShort = false;
    await ask();
    expect(agent.processes[1]?.hasEnded()).toBe(false);
    isShort = true;
    await expect.poll(() => agent.processes[1]?.hasEnded()).toBe(true);
  });
});

describe("an agent whose turn did not end well", () => {
  it.each<[string, Script]>([
    ["says nothing", { "session/prompt": () => ({ stopReason: "end_turn" }) }],
    ["refuses", { "session/prompt": (_params, io) => (io.say("No."), { stopReason: "refusal" }) }],
    ["gives up", { "session/prompt": (_params, io) => (io.say("No."), { stopReason: "cancelled" }) }],
    ["fails", { "session/prompt": () => Promise.reject({ code: -32603, message: "Internal" }) }],
    ["answers invisibly", { "session/prompt": (_params, io) => (io.say("\u200B"), { stopReason: "end_turn" }) }],
  ])("does not live on if it %s", async (_what, script) => {
    const { agent, ask } = create({ script });

    await ask().catch(() => undefined);

    expect(agent.processes[0]?.hasEnded()).toBe(true);
  });

  it("does not live on if the turn was cancelled, and the next one resumes", async () => {
    let turns = 0;
    const cancelling = new AbortController();
    const { agent, ask } = create({
      script: {
        "session/prompt": async (_params, io) => {
          if (++turns !== 2) return (io.say("Hello."), { stopReason: "end_turn" });
          const notified = io.notified("session/cancel");
          cancelling.abort();
          await notified;
          return { stopReason: "cancelled" };
        },
      },
    });
    const { sessionId } = await ask();

    expect(await failureOf(ask({ sessionId }, { signal: cancelling.signal }))).toMatchObject({ code: "CANCELLED" });
    expect(agent.processes[0]?.hasEnded()).toBe(true);
    expect(await ask({ sessionId })).toMatchObject({ response: "Hello." });
  });

  it("is not asked again if it ends with the prompt", async () => {
    let turns = 0;
    const { agent, ask } = create({
      dependencies: { retry: "never" },
      script: {
        "session/prompt": (_params, io) => {
          if (turns++ > 0) io.exit({ exitCode: 3 }, "panic");
          io.say("Hello.");
          return { stopReason: "end_turn" };
        },
      },
    });
    const { sessionId } = await ask();

    expect(await failureOf(ask({ sessionId }))).toMatchObject({
      code: "AGENT_CRASHED",
      message: expect.stringContaining("exit code 3: panic"),
    });
    expect(turns).toBe(2);
    expect(agent.processes).toHaveLength(1);
  });
});

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
