import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { failureOf } from "@budgie/testkit";
import { CUSTOM, V3_SCRIPT } from "./helpers/kiro-script.ts";
import { toOffered } from "./helpers/offered.ts";
import { create, lastOf, noteOutput, POLICY, replaceFolder, type Needs, type Side } from "./helpers/warm-place.ts";

describe("an agent between two turns of its session", () => {
  it("stays, and continues its conversation", async () => {
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

  it("is not kept without an idle time, or with protected paths, or with variables that name the run", async () => {
    const given = [{ protectExecutablePaths: true }, { providedFor: () => ({ env: {}, commitHooks: "/hooks" }) }];
    for (const options of [{ isWarm: false }, ...given.map((dependencies) => ({ dependencies }))]) {
      const { agent, ask } = create(options);
      await ask();
      expect(agent.processes[0]?.hasEnded()).toBe(true);
    }
  });

  it.each<[string, (place: Needs) => void]>([
    ["may only read", (place) => (place.policy = { ...POLICY, workspace: "ro" })],
    ["reaches other hosts", (place) => (place.policy = { ...POLICY, egress: { mode: "allowlist", hosts: [] } })],
    ["has other limits", (place) => (place.policy = { ...POLICY, limits: { cpus: 1 } })],
    ["gets another variable", (place) => (place.env = { KEY: "2" })],
    ["sees another file of the user's", ({ given }) => writeFileSync(given, "two")],
    ["finds a definition that was not there", ({ directory }) => mkdirSync(join(directory, ".codex"))],
    ["works on another folder of that path", ({ directory }) => replaceFolder(directory)],
    ["is another agent of that name", (place) => (place.model = "opus")],
    ["is offered an MCP server", (place) => (place.offered = toOffered("one"))],
    ["has a new login", (place) => (place.login = "another")],
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

  it("has its output discarded and its requests denied", async () => {
    const { agent, ask } = create();
    const printed: string[] = [];
    const { sessionId } = await ask({}, { events: noteOutput(printed) });
    const side = lastOf(agent);

    side.say("More.");
    const options = [{ optionId: "0", kind: "allow_once", name: "Yes" }];
    const request = { sessionId: "c1", options, toolCall: { toolCallId: "t", title: "Write" } };
    expect((await side.ask("session/request_permission", request))["result"]).toEqual({
      outcome: { outcome: "cancelled" },
    });

    expect(await ask({ sessionId }, { events: noteOutput(printed) })).toMatchObject({ response: "Hello.", denied: [] });
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

  it("that is being stopped for that gets no prompt", async () => {
    const stops: (() => void)[] = [];
    const { agent, ask } = create({ facts: { stop: () => new Promise((resolve) => stops.push(resolve)) } });
    const { sessionId } = await ask();
    const side = lastOf(agent);

    for (let piece = 0; piece < 20; piece++) side.say("x".repeat(100_000));
    await expect.poll(() => stops.length).toBe(1);
    const turn = ask({ sessionId });
    await expect.poll(() => stops.length).toBe(2);
    side.exit({ signal: "SIGTERM", reason: "shutdown" });
    for (const stop of stops) stop();

    expect(await turn).toMatchObject({ response: "Hello." });
    expect(agent.processes).toHaveLength(2);
  });

  it("ends if it became another agent meanwhile, and the next turn asks for its own again", async () => {
    let isOther = false;
    const modes = { currentModeId: "coder", availableModes: [] };
    const { agent, ask } = create({
      mode: "coder",
      script: {
        "session/new": () => ({ sessionId: "c1", modes }),
        "session/load": () => ({ modes }),
        "session/set_mode": () => (isOther ? Promise.reject({ code: -32_602, message: "Unknown mode" }) : {}),
      },
    });
    const { sessionId } = await ask();
    await ask({ sessionId });
    expect(agent.processes).toHaveLength(1);

    isOther = true;

    expect(await ask({ sessionId })).toMatchObject({ response: "Hello." });
    expect(agent.processes.map(({ hasEnded }) => hasEnded())).toEqual([true, false]);
  });

  it("of V3 stays, without another request for its mode", async () => {
    const { agent, ask, place } = create({ script: V3_SCRIPT });
    place.kiro = { harness: "v3", agent: CUSTOM };

    const { sessionId } = await ask();
    await ask({ sessionId });

    expect(agent.processes).toHaveLength(1);
    expect(agent.received.map(({ method }) => method)).not.toContain("session/set_mode");
  });

  it.each<[string, (place: Needs, side: Side) => void]>([
    ["its definition changed", (place) => (place.kiro = { harness: "v3", agent: { ...CUSTOM, prompt: "Other." } })],
    ["it lost its agent", (_place, side) => side.send({ method: "_kiro/customAgent/not_found", params: {} })],
  ])("of V3 ends, and another loads its conversation, if %s", async (_what, change) => {
    const { agent, ask, place } = create({ script: V3_SCRIPT });
    place.kiro = { harness: "v3", agent: CUSTOM };
    const { sessionId } = await ask();

    change(place, lastOf(agent));
    await ask({ sessionId });

    expect(agent.processes.map(({ hasEnded }) => hasEnded())).toEqual([true, false]);
    expect(agent.received.map(({ method }) => method)).toContain("session/load");
  });

  it("gets no prompt of a turn that is cancelled before", async () => {
    const cancelling = new AbortController();
    const { agent, ask, place } = create();
    const { sessionId } = await ask();
    place.whenCompared = () => cancelling.abort();

    expect(await failureOf(ask({ sessionId }, { signal: cancelling.signal }))).toMatchObject({ code: "CANCELLED" });
    expect(agent.received.filter(({ method }) => method === "session/prompt")).toHaveLength(1);
  });

  it("has ended before another one starts, also if it is ended while they are compared", async () => {
    let end: () => void = () => undefined;
    const stopped = new Promise<void>((resolve) => (end = resolve));
    const steps: string[] = [];
    const started: number[] = [];
    let isShort = false;
    const { agent, ask, place } = create({
      warm: { isMemoryShort: () => isShort, lookEveryMs: 1 },
      agent: { endsWithInput: false },
      facts: {
        async stop() {
          steps.push("stopping");
          await stopped;
          lastOf(agent).exit({ exitCode: 0 });
        },
      },
    });
    const { sessionId } = await ask();
    place.whenCompared = async () => {
      isShort = true;
      await expect.poll(() => steps).toEqual(["stopping"]);
      isShort = false;
      setTimeout(() => {
        started.push(agent.processes.length);
        end();
      }, 50);
    };

    expect(await ask({ sessionId })).toMatchObject({ response: "Hello." });
    await expect.poll(() => started).toEqual([1]);
    expect(agent.processes).toHaveLength(2);
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
