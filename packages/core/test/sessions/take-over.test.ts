import { describe, expect, it } from "vitest";
import { createSessionId, type SessionId } from "@budgie/core";
import type { OwnerRecord } from "@budgie/core/owners";
import { createSessionStore, type RegisterEntry, type SessionRegister } from "@budgie/core/sessions";
import { createFakeRunner } from "@budgie/testkit";
import type { Keeping } from "../../src/sessions/take-over.ts";

const ABOUT = { agent: "tester", directory: "/project" };
const DAY_MS = 86_400_000;

type State = "own" | "live" | "dead" | "foreign";

describe("a kept session of another process", () => {
  it("is taken over once, with its conversation, by any number of simultaneous calls", async () => {
    const totals = { totalTokens: 5 };
    const { store, register, session } = await createKept({ over: { totals } });

    const [one, other] = await Promise.all([store.find(session.id, ABOUT), store.find(session.id, ABOUT)]);

    expect(one).toBe(other);
    expect(one).toMatchObject({ ...ABOUT, id: session.id, begun: true, createdMs: session.createdMs, totals });
    expect(register.passes).toEqual([[session.id, "theirs", "mine"]]);
    expect(await register.find(session.id)).toMatchObject({ owner: { instance: "mine" }, keepMs: DAY_MS });
  });

  it.each([
    ["lives", { state: "live" as State }, /^Another budgie that runs has/],
    ["is on another machine", { state: "foreign" as State }, /on another machine/],
  ])("stays with an owner who %s", async (_what, options, message) => {
    const { store, register, session } = await createKept(options);

    await expect(store.find(session.id, ABOUT)).rejects.toMatchObject({ code: "SESSION_NOT_FOUND", message });
    expect(register.passes).toEqual([]);
  });

  it.each([
    ["was not kept", { keepMs: undefined }, /^There is no session/],
    ["was begun in a sandbox", { isolation: "container" as const }, /Resume it in a sandbox, or leave/],
    ["has expired", { usedMs: Date.now() - DAY_MS - 1000 }, /unused for longer than the 24h00m/],
  ])("is refused when it %s", async (_what, over, message) => {
    const { store, register, session } = await createKept({ over });

    await expect(store.find(session.id, ABOUT)).rejects.toMatchObject({ code: "SESSION_NOT_FOUND", message });
    expect(register.passes).toEqual([]);
  });

  it.each([
    { ...ABOUT, agent: "other" },
    { ...ABOUT, directory: "/other" },
  ])("is not taken over by a call with %j", async (wanted) => {
    const { store, register, session } = await createKept();

    await expect(store.find(session.id, wanted)).rejects.toMatchObject({ code: "INPUT_INVALID" });
    expect(register.passes).toEqual([]);
  });

  it("is refused if another process was faster", async () => {
    const { store, register, runner, session } = await createKept();
    register.pass = async () => false;

    await expect(store.find(session.id, ABOUT)).rejects.toMatchObject({ message: /^Another budgie that runs has/ });
    expect(runner.resumed).toEqual([]);
  });

  it("can be resumed again after its home could not be opened", async () => {
    const { store, register, runner, session } = await createKept();
    const working = { ...runner };
    runner.resumeSession = () => Promise.reject(new Error("no engine"));
    await expect(store.find(session.id, ABOUT)).rejects.toThrow("no engine");
    Object.assign(runner, working);

    expect(await store.find(session.id, ABOUT)).toMatchObject({ id: session.id });
    expect(register.passes).toHaveLength(1);
  });

  it("is not taken over by a budgie that keeps no sessions", async () => {
    const { store, register, session } = await createKept({ keepMs: undefined });

    await expect(store.find(session.id, ABOUT)).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
    expect(register.passes).toEqual([]);
  });
});

describe("the register entry of a session", () => {
  it("records that it exists, that its agent has run, its totals, and when its last turn ended", async () => {
    const { store, register } = await createKept();
    const opened = await store.open(ABOUT);
    const atFirst = await register.find(opened.id);
    opened.begin();
    const begun = await register.find(opened.id);
    await new Promise((wake) => setTimeout(wake, 5));

    opened.count({ totalTokens: 9 });
    await opened.noteUse();

    const used = await register.find(opened.id);
    expect(atFirst).toMatchObject({
      ...ABOUT,
      begun: false,
      isolation: "none",
      keepMs: DAY_MS,
      owner: { instance: "mine" },
    });
    expect(begun).toMatchObject({ begun: true, usedMs: atFirst?.usedMs });
    expect(used?.usedMs).toBeGreaterThan(atFirst?.usedMs ?? 0);
    expect([atFirst?.totals, used?.totals]).toEqual([{}, { totalTokens: 9 }]);
  });

  it("is removed when the session is discarded, and the session cannot be resumed", async () => {
    const { store, register } = await createKept();
    const opened = await store.open(ABOUT);

    await Promise.all([
      store.discard(opened),
      expect(store.find(opened.id, ABOUT)).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" }),
    ]);

    expect(await register.find(opened.id)).toBeUndefined();
  });

  it.each([
    [DAY_MS, 1],
    [undefined, 0],
  ])("outlives the store if sessions are kept: for %s ms, %i", async (keepMs, left) => {
    const { store, register } = await createKept({ keepMs });
    const opened = await store.open(ABOUT);

    await store.close();

    expect((await register.list()).filter(({ id }) => id === opened.id)).toHaveLength(left);
  });
});

describe("idle sessions", () => {
  it("expire, except those in which a turn runs or waits", async () => {
    const { store, register, runner } = await createKept();
    const [idle, waitedFor, running] = [await store.open(ABOUT), await store.open(ABOUT), await store.open(ABOUT)];
    let release = () => {};
    const gate = new Promise<void>((resolve) => (release = resolve));
    const turns = [waitedFor.inUse(() => gate), running.inUse(() => gate)];
    await new Promise((wake) => setTimeout(wake, 5));

    await store.expireIdle(1);

    await expect(store.find(idle.id, ABOUT)).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
    expect(runner.homes.has(idle.id)).toBe(false);
    expect(await register.find(idle.id)).toBeUndefined();
    expect(await store.find(waitedFor.id, ABOUT)).toBe(waitedFor);
    expect(await store.find(running.id, ABOUT)).toBe(running);
    release();
    await Promise.all(turns);
  });

  it("stay until they expire", async () => {
    const { store } = await createKept();
    const opened = await store.open(ABOUT);

    await store.expireIdle(DAY_MS);

    expect(await store.find(opened.id, ABOUT)).toBe(opened);
  });
});

type KeptOptions = {
  readonly state?: State;
  readonly over?: Partial<RegisterEntry>;
  readonly keepMs?: number | undefined;
};

async function createKept({ over = {}, state = "dead", ...options }: KeptOptions = {}) {
  const register = createMemoryRegister();
  const fake = createFakeRunner(() => ({}));
  const resumed: SessionId[] = [];
  const runner = {
    ...fake,
    resumed,
    async resumeSession(id: SessionId) {
      resumed.push(id);
      return fake.resumeSession(id);
    },
  };
  const keepMs = "keepMs" in options ? options.keepMs : DAY_MS;
  const store = createSessionStore(runner, { register, owner: createFakeOwner(state), keepMs });
  const id = createSessionId();
  const session: RegisterEntry = {
    ...ABOUT,
    id,
    isolation: "none",
    begun: true,
    createdMs: Date.now() - 5000,
    usedMs: Date.now() - 1000,
    keepMs: DAY_MS,
    owner: makeRecord("theirs"),
    ...over,
  };
  await fake.openSession(id);
  await register.save(session);
  return { store, register, runner, session };
}

function makeRecord(instance: string): OwnerRecord {
  return { instance, host: "here", lock: `/owners/${instance}` };
}

function createFakeOwner(state: State): Keeping["owner"] {
  return {
    record: makeRecord("mine"),
    hold: async () => undefined,
    stateOf: async ({ instance }) => (instance === "mine" ? "own" : state),
    listRecords: () => [],
    answer: () => undefined,
    clear: async () => undefined,
    release: async () => undefined,
  };
}

function createMemoryRegister(): SessionRegister & { readonly passes: readonly (readonly string[])[] } {
  const entries = new Map<SessionId, RegisterEntry>();
  const passes: (readonly string[])[] = [];
  return {
    passes,
    save: async (session) => void entries.set(session.id, session),
    find: async (id) => entries.get(id),
    list: async () => [...entries.values()],
    async pass(id, fromInstance, to) {
      passes.push([id, fromInstance, to.instance]);
      const entry = entries.get(id);
      if (entry?.owner.instance !== fromInstance) return false;
      entries.set(id, { ...entry, owner: to });
      return true;
    },
    remove: async (id) => void entries.delete(id),
  };
}
