import { describe, expect, it } from "vitest";
import { createSessionId } from "@budgie/core";
import { createFakeRunner } from "@budgie/testkit";
import { createSessionBook } from "../src/session-book.ts";

const NEW = { agent: "tester", directory: "/project" };

describe("createSessionBook", () => {
  it("opens a new session with a home, and finds it again", async () => {
    const { book, runner } = create();
    const session = await book.open(NEW);

    expect(session).toMatchObject({ agent: "tester", directory: "/project", begun: false });
    expect([...runner.homes.keys()]).toEqual([session.id]);
    expect(await book.find(session.id, NEW)).toBe(session);
    expect(runner.homes.size).toBe(1);
  });

  it("opens another session each time that none is named", async () => {
    const { book } = create();

    expect((await book.open(NEW)).id).not.toBe((await book.open(NEW)).id);
  });

  it("has no entry for a session whose home could not be made", async () => {
    const runner = { ...createFakeRunner(() => ({})), openSession: () => Promise.reject(new Error("no engine")) };

    await expect(createSessionBook(runner).open(NEW)).rejects.toThrow("no engine");
  });

  it("refuses a malformed id", async () => {
    await expect(create().book.find("../../x", NEW)).rejects.toMatchObject({ code: "INPUT_INVALID" });
  });

  it("refuses an unknown id, and begins nothing in its place", async () => {
    const { book, runner } = create();
    const sessionId = createSessionId();

    await expect(book.find(sessionId, NEW)).rejects.toThrow(
      expect.objectContaining({
        code: "SESSION_NOT_FOUND",
        message: expect.stringContaining(`There is no session "${sessionId}" here`),
      }),
    );
    expect(runner.homes.size).toBe(0);
  });

  it("refuses the session of another agent", async () => {
    const { book } = create();
    const { id } = await book.open(NEW);

    await expect(book.find(id, { ...NEW, agent: "reviewer" })).rejects.toThrow(
      expect.objectContaining({
        code: "INPUT_INVALID",
        message: expect.stringContaining('with the agent "tester", not "reviewer"'),
      }),
    );
  });

  it("refuses the session of another directory", async () => {
    const { book } = create();
    const { id } = await book.open(NEW);

    await expect(book.find(id, { ...NEW, directory: "/other" })).rejects.toThrow(
      expect.objectContaining({
        code: "INPUT_INVALID",
        message: expect.stringContaining('works on "/project", not on "/other"'),
      }),
    );
  });

  it("runs the turns of one session one at a time, in the order they came", async () => {
    const session = await create().book.open(NEW);
    const events: string[] = [];
    const turn = (name: string, ms: number) =>
      session.inTurn(async () => {
        events.push(`${name} begins`);
        await new Promise((resolve) => setTimeout(resolve, ms));
        events.push(`${name} ends`);
      });

    await Promise.all([turn("first", 30), turn("second", 1), turn("third", 10)]);

    expect(events).toEqual(["first", "second", "third"].flatMap((name) => [`${name} begins`, `${name} ends`]));
  });

  it("goes on after a turn that failed", async () => {
    const session = await create().book.open(NEW);

    const [first, second] = await Promise.allSettled([
      session.inTurn(() => Promise.reject(new Error("x"))),
      session.inTurn(async () => "fine"),
    ]);

    expect([first?.status, second?.status]).toEqual(["rejected", "fulfilled"]);
  });

  it("runs turns of different sessions at the same time", async () => {
    const { book } = create();
    const [one, other] = [await book.open(NEW), await book.open(NEW)];
    let release = () => {};
    const gate = new Promise<void>((resolve) => (release = resolve));

    const blocked = one.inTurn(() => gate);
    expect(await other.inTurn(async () => "through")).toBe("through");
    release();
    await blocked;
  });

  it("forgets a discarded session, and removes its home", async () => {
    const { book, runner } = create();
    const session = await book.open(NEW);
    await book.discard(session);

    expect(runner.homes.size).toBe(0);
    await expect(book.find(session.id, NEW)).rejects.toThrow(expect.objectContaining({ code: "SESSION_NOT_FOUND" }));
  });

  it("runs no turn that was queued when its session was discarded", async () => {
    const { book } = create();
    const session = await book.open(NEW);
    let ran = false;

    const first = session.inTurn(() => book.discard(session));
    const queued = session.inTurn(async () => (ran = true));

    await first;
    await expect(queued).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
    expect(ran).toBe(false);
  });
});

function create() {
  const runner = createFakeRunner(() => ({}));
  return { runner, book: createSessionBook(runner) };
}
