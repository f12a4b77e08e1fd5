import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createSessionId } from "@budgie/core";
import { createFakeRunner } from "@budgie/testkit";
import { createSessionStore } from "../../src/sessions/session-store.ts";

const DAY_MS = 86_400_000;
const NEW = { agent: "tester", directory: "/project" };

describe("createSessionStore", () => {
  it("opens a new session with a home, and finds it again", async () => {
    const { store, runner } = create();
    const session = await store.open(NEW);

    expect(session).toMatchObject({ agent: "tester", directory: "/project", begun: false });
    expect([...runner.homes.keys()]).toEqual([session.id]);
    expect(await store.find(session.id, NEW)).toBe(session);
    expect(runner.homes.size).toBe(1);
  });

  it("opens another session for each call that names none", async () => {
    const { store } = create();

    expect((await store.open(NEW)).id).not.toBe((await store.open(NEW)).id);
  });

  it("has at most 10,000 open at once, also of those that are being opened", async () => {
    const { store } = create();
    const opened = await Promise.allSettled(Array.from({ length: 10_001 }, () => store.open(NEW)));
    const [failed, ...others] = opened.filter(({ status }) => status === "rejected");

    expect(others).toEqual([]);
    expect(failed).toMatchObject({ reason: { code: "QUEUE_FULL" } });
    const [first] = opened;
    if (first?.status === "fulfilled") await store.discard(first.value);
    await expect(store.open(NEW)).resolves.toMatchObject({ begun: false });
  });

  it("has no entry for a session whose home could not be created", async () => {
    const runner = { ...createFakeRunner(() => ({})), openSession: () => Promise.reject(new Error("no engine")) };

    await expect(createSessionStore(runner).open(NEW)).rejects.toThrow("no engine");
  });

  it("refuses a session that was begun in another isolation, as its agent's name is that of one elsewhere now", async () => {
    const elsewhere = { ...createFakeRunner(() => ({})), isolation: "remote" as const };
    const store = createSessionStore(
      createFakeRunner(() => ({})),
      undefined,
      elsewhere,
    );
    const [here, there] = [await store.open(NEW), await store.open({ ...NEW, isRemote: true })];

    await expect(store.find(here.id, { ...NEW, isRemote: true })).rejects.toMatchObject({
      code: "SESSION_NOT_FOUND",
      message: expect.stringContaining("begun without a sandbox"),
    });
    await expect(store.find(there.id, NEW)).rejects.toThrow("begun with an agent elsewhere");
  });

  it("refuses a malformed id", async () => {
    await expect(create().store.find("../../x", NEW)).rejects.toMatchObject({ code: "INPUT_INVALID" });
  });

  it("refuses an unknown id, and opens no other session instead", async () => {
    const { store, runner } = create();
    const sessionId = createSessionId();

    await expect(store.find(sessionId, NEW)).rejects.toThrow(
      expect.objectContaining({
        code: "SESSION_NOT_FOUND",
        message: expect.stringContaining(`There is no session "${sessionId}" here`),
      }),
    );
    expect(runner.homes.size).toBe(0);
  });

  it("refuses the session of another agent", async () => {
    const { store } = create();
    const { id } = await store.open(NEW);

    await expect(store.find(id, { ...NEW, agent: "reviewer" })).rejects.toThrow(
      expect.objectContaining({
        code: "INPUT_INVALID",
        message: expect.stringContaining('with the agent "tester", not "reviewer"'),
      }),
    );
  });

  it("refuses the session of another directory", async () => {
    const { store } = create();
    const { id } = await store.open(NEW);

    await expect(store.find(id, { ...NEW, directory: "/other" })).rejects.toThrow(
      expect.objectContaining({
        code: "INPUT_INVALID",
        message: expect.stringContaining('works on "/project", not on "/other"'),
      }),
    );
  });

  it("forgets a discarded session, and removes its home", async () => {
    const { store, runner } = create();
    const session = await store.open(NEW);
    await store.discard(session);

    expect(runner.homes.size).toBe(0);
    await expect(store.find(session.id, NEW)).rejects.toThrow(expect.objectContaining({ code: "SESSION_NOT_FOUND" }));
  });

  it.each([1000, -1000])(
    "keeps idle sessions when the clock jumps by %i days, and expires them after their full keep time",
    async (days) => {
      vi.useFakeTimers({ toFake: ["Date"] });
      onTestFinished(() => void vi.useRealTimers());
      const { store } = create();
      const opened = await store.open(NEW);
      vi.setSystemTime(Date.now() + days * DAY_MS);

      await store.expireIdle(DAY_MS);
      const stayed = await store.find(opened.id, NEW);
      await new Promise((wake) => setTimeout(wake, 5));
      await store.expireIdle(1);

      expect(stayed).toBe(opened);
      await expect(store.find(opened.id, NEW)).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
    },
  );

  it("ends only the named sessions", async () => {
    const { store, runner } = create();
    const [one, two] = [await store.open(NEW), await store.open(NEW)];

    await store.end([one.id, createSessionId()]);

    expect([...runner.homes.keys()]).toEqual([two.id]);
    await expect(store.find(one.id, NEW)).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
    expect(await store.find(two.id, NEW)).toBe(two);
  });

  it("ends a session in use after the last of its turns", async () => {
    const { store, runner } = create();
    const session = await store.open(NEW);
    const ends: (() => void)[] = [];
    const turns = [1, 2].map(() => session.inUse(() => new Promise<void>((resolve) => ends.push(resolve))));
    const seen: string[] = [];

    const ended = store.end([session.id]).then(() => seen.push("ended"));
    ends[0]?.();
    await turns[0];
    await new Promise((wake) => setTimeout(wake, 20));
    seen.push(`${runner.homes.size} home`);
    ends[1]?.();
    await ended;

    expect(seen).toEqual(["1 home", "ended"]);
    expect(runner.homes.size).toBe(0);
  });
});

function create() {
  const runner = createFakeRunner(() => ({}));
  return { runner, store: createSessionStore(runner) };
}
