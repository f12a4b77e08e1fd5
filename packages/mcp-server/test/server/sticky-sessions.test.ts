import { randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  BudgieError,
  type ErrorCode,
  type UndeliveredAnswer,
  type Reply,
  type RunTurn,
  type TurnRequest,
} from "@budgie/core";
import { stickySessions } from "../../src/server/sticky-sessions.ts";
import { throughStep } from "../../../cli/test/helpers/through-step.ts";

const REPLY = {
  response: "",
  runId: "",
  agent: "",
  directory: "",
  isolation: "none",
  durationMs: 1,
  exit: { exitCode: 0, signal: undefined, reason: undefined, oomKilled: false },
  retried: false,
  denied: [],
  changedExecutablePaths: [],
  egress: undefined,
  disk: undefined,
  usage: undefined,
  missed: [],
  warnings: [],
} as const;

type Turn = { readonly request: TurnRequest; readonly end: (error?: BudgieError) => Promise<void> };

describe("stickySessions", () => {
  let folder: string;
  let requests: TurnRequest[];
  let fails: BudgieError[];

  beforeEach(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), "budgie-sticky-")));
    requests = [];
    fails = [];
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  /** Answers in the named session, or in a new one. */
  const runTurn: RunTurn = async (request) => {
    requests.push(request);
    const failure = fails.shift();
    if (failure !== undefined) throw failure;
    return { ...REPLY, sessionId: request.sessionId ?? randomUUID() };
  };

  const ask = (runner: RunTurn, request: Partial<TurnRequest> = {}): Promise<Reply> =>
    runner({ agent: "reader", prompt: "Hi.", directory: folder, ...request });

  function toError(code: ErrorCode, sessionId?: string, missed: readonly UndeliveredAnswer[] = []): BudgieError {
    return new BudgieError(code, "It failed.", { report: { sessionId, missed } });
  }

  it("resumes the last session, which may be one that was named", async () => {
    const sticky = throughStep(stickySessions(), runTurn);
    const first = await ask(sticky);
    const second = await ask(sticky);
    const named = await ask(sticky, { sessionId: randomUUID() });
    const third = await ask(sticky);

    expect(second.sessionId).toBe(first.sessionId);
    expect(named.sessionId).not.toBe(first.sessionId);
    expect(third.sessionId).toBe(named.sessionId);
  });

  it("begins a new session on request, and resumes that from then on", async () => {
    const sticky = throughStep(stickySessions(), runTurn);
    const first = await ask(sticky);
    const second = await ask(sticky, { sessionId: "new" });
    const third = await ask(sticky);

    expect(second.sessionId).not.toBe(first.sessionId);
    expect(third.sessionId).toBe(second.sessionId);
    expect(requests.map(({ sessionId }) => sessionId)).toEqual([undefined, undefined, second.sessionId]);
  });

  it("keeps agents, directories and clients apart, and recognises a directory behind a symlink", async () => {
    const sticky = throughStep(stickySessions(), runTurn);
    const link = join(folder, "link");
    mkdirSync(join(folder, "real"));
    symlinkSync("real", link);
    const { sessionId } = await ask(sticky, { directory: join(folder, "real") });

    expect((await ask(sticky, { directory: link })).sessionId).toBe(sessionId);
    expect((await ask(sticky, { directory: folder })).sessionId).not.toBe(sessionId);
    expect((await ask(sticky, { directory: link, agent: "writer" })).sessionId).not.toBe(sessionId);
    expect((await ask(throughStep(stickySessions(), runTurn), { directory: link })).sessionId).not.toBe(sessionId);
  });

  it("replaces an expired session by a new one, with the same prompt, and reports the old one's undelivered answers", async () => {
    const sticky = throughStep(stickySessions(), runTurn);
    const missed = [{ runId: "r", response: "late", when: "then" }];
    const first = await ask(sticky);
    fails = [new BudgieError("SESSION_NOT_FOUND", "It ended.", { report: { missed, moreMissed: 3 } })];
    const second = await ask(sticky, { prompt: "Go on." });

    expect(requests.slice(1)).toMatchObject([
      { prompt: "Go on.", sessionId: first.sessionId },
      { prompt: "Go on.", sessionId: undefined },
    ]);
    expect(second.missed).toEqual(missed);
    expect(second.warnings).toEqual([
      `3 more answers of the ended session did not fit: "budgie runs ls --session ${first.sessionId}" lists them, and "budgie runs show" prints one.`,
    ]);
    expect((await ask(sticky)).sessionId).toBe(second.sessionId);
  });

  it("makes no third attempt", async () => {
    const sticky = throughStep(stickySessions(), runTurn);
    await ask(sticky);
    fails = [toError("SESSION_NOT_FOUND"), toError("SESSION_NOT_FOUND")];

    await expect(ask(sticky)).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
    expect(requests).toHaveLength(3);
  });

  it("fails for an expired named session, says what begins a new one, and keeps its own", async () => {
    const sticky = throughStep(stickySessions(), runTurn);
    const { sessionId } = await ask(sticky);
    fails = [toError("SESSION_NOT_FOUND")];

    await expect(ask(sticky, { sessionId: randomUUID() })).rejects.toThrow('"new" begins a new one');
    expect((await ask(sticky)).sessionId).toBe(sessionId);
  });

  it("resumes the session after an error, unless the error ended it", async () => {
    const sticky = throughStep(stickySessions(), runTurn);
    const id = randomUUID();
    fails = [toError("TIMED_OUT", id)];
    await expect(ask(sticky)).rejects.toMatchObject({ code: "TIMED_OUT" });
    expect((await ask(sticky)).sessionId).toBe(id);

    fails = [toError("INPUT_INVALID")];
    await expect(ask(sticky)).rejects.toMatchObject({ code: "INPUT_INVALID" });
    expect((await ask(sticky)).sessionId).toBe(id);

    fails = [toError("SESSION_UNUSABLE")];
    await expect(ask(sticky)).rejects.toMatchObject({ code: "SESSION_UNUSABLE" });
    expect((await ask(sticky)).sessionId).not.toBe(id);
  });

  it("begins a session for each of two simultaneous calls, and resumes that of the later call", async () => {
    const turns: Turn[] = [];
    const sticky = throughStep(
      stickySessions(),
      (request) =>
        new Promise((resolve) => {
          const end = async (): Promise<void> =>
            resolve({ ...REPLY, sessionId: request.sessionId ?? `of ${request.prompt}` });
          turns.push({ request, end });
        }),
    );
    const calls = [ask(sticky, { prompt: "one" }), ask(sticky, { prompt: "two" })];
    await turns[1]?.end();
    await calls[1];
    await turns[0]?.end();
    await calls[0];
    void ask(sticky);

    expect(turns.map(({ request }) => request.sessionId)).toEqual([undefined, undefined, "of two"]);
  });

  it("remembers a thousand, and forgets the least recently used", async () => {
    const sticky = throughStep(stickySessions(), runTurn);
    const idOf = async (agent: string): Promise<string> => (await ask(sticky, { agent })).sessionId;
    const [a, b] = [await idOf("a"), await idOf("b")];
    for (let index = 0; index < 998; index++) await idOf(`agent ${index}`);
    expect(await idOf("a")).toBe(a);
    await idOf("one more");

    expect(await idOf("a")).toBe(a);
    expect(await idOf("b")).not.toBe(b);
  });
});
