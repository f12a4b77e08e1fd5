import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { BudgieError, Reply } from "@budgie/core";
import { createEngineProxy, type EngineProxy } from "../helpers/engine-proxy.ts";
import { createTurnPlace, type TurnPlace } from "./turn-place.ts";

const AGENT = "shell-worker";
const AT_WORK = "[[write at-work: yes]]";

// The request at each stage of a turn. Its answer is held back until the abort was sent.
const BEFORE_ITS_AGENT = {
  "while its volumes are looked up": /^GET \S*\/volumes\/budgie-session-/,
  "while its volumes are made": /^POST \S*\/volumes\/create/,
  "while its session container is made": /^POST \S*\/containers\/create\?name=budgie-session-/,
  "while its session container is looked for": /^GET \S*\/containers\/budgie-session-\S+\/json/,
  "while its container is made": /^POST \S*\/containers\/create\?name=budgie-turn-/,
  "while its container is attached to": /^POST \S*\/attach/,
  "while its container starts": /^POST \S*\/containers\/[0-9a-f]+\/start/,
  "while its started container is looked at": /^GET \S*\/containers\/[0-9a-f]{12,}\/json/,
} as const;

// The same if budgie cannot look into containers, so that the engine writes the login: through the session container if that runs, which
// it may do for a look into it, else through a copy of it.
const BY_THE_ENGINE = {
  "while the container that receives its login is created or used":
    /^(?:POST \S*\/containers\/create\?name=budgie-session-\S+-copy-|PUT \S*\/archive)/,
  "while its login is written": /^PUT \S*\/containers\/\S+\/archive/,
} as const;

const STAGES = [
  ...Object.entries(BEFORE_ITS_AGENT).map(([name, point]) => [name, point, {}] as const),
  ...Object.entries(BY_THE_ENGINE).map(([name, point]) => [name, point, { openRoot: async () => undefined }] as const),
];

let proxy: EngineProxy;
beforeAll(async () => void (proxy = await createEngineProxy()));
afterAll(() => proxy[Symbol.asyncDispose]());

describe("a first turn that is cancelled", () => {
  it("before its start sends nothing to the engine", async () => {
    await using place = await createTurnPlace(proxy);
    const before = proxy.requestLines().length;

    const outcome = await toEnd(ask(place, { prompt: "Hello", signal: AbortSignal.abort() }));

    expect(outcome).toBe("CANCELLED");
    expect(await place.traces()).toEqual([]);
    expect(proxy.requestLines().slice(before)).not.toContainEqual(expect.stringMatching(/name=budgie-turn/));
  });

  it.each(STAGES)("%s is removed with everything that was created for it", async (_, point, options) => {
    await using place = await createTurnPlace({ ...proxy, ...options });
    const cancelling = new AbortController();

    const outcome = await meet(point, {
      begin: () => toEnd(ask(place, { prompt: AT_WORK, signal: cancelling.signal })),
      end: () => cancelling.abort(),
    });

    expect(outcome).toBe("CANCELLED");
    expect(await place.traces()).toEqual([]);
    expect(proxy.pending()).toEqual([]);
    expect(existsSync(join(place.workspace, "at-work"))).toBe(false);
  });

  it("while its network starts is removed with everything that was created for it", async () => {
    await using place = await createTurnPlace({ ...proxy, egress: "allowlist" });
    const cancelling = new AbortController();

    const outcome = await meet(/^POST \S*\/containers\/budgie-session-\S+\/start/, {
      begin: () => toEnd(ask(place, { prompt: AT_WORK, signal: cancelling.signal })),
      end: () => cancelling.abort(),
    });

    expect(outcome).toBe("CANCELLED");
    expect(await place.traces()).toEqual([]);
  });
});

describe("a runner that closes", () => {
  it.each(STAGES)("%s leaves nothing of a turn", async (_, point, options) => {
    await using place = await createTurnPlace({ ...proxy, ...options });
    let closed: Promise<void> = Promise.resolve();

    const outcome = await meet(point, {
      begin: () => toEnd(ask(place, { prompt: AT_WORK })),
      end: () => void (closed = place.runner.close()),
    });
    await closed;

    expect(outcome).toMatch(/^(CANCELLED|SESSION_NOT_FOUND|RUNNER_UNAVAILABLE)$/);
    expect(await place.traces()).toEqual([]);
    expect(proxy.pending()).toEqual([]);
  });
});

describe("a later turn that is cancelled", () => {
  it.each([
    "while its session container is looked for",
    "while its container is made",
    "while its container is attached to",
    "while its container starts",
  ] as const)("%s leaves its session unchanged", async (point) => {
    await using place = await createTurnPlace(proxy);
    const { sessionId } = (await ask(place, { prompt: "Keep the word token-heron." })) as Reply;
    const cancelling = new AbortController();

    const outcome = await meet(BEFORE_ITS_AGENT[point], {
      begin: () => toEnd(ask(place, { prompt: AT_WORK, sessionId, signal: cancelling.signal })),
      end: () => cancelling.abort(),
    });

    expect(outcome).toBe("CANCELLED");
    expect(turnsIn(await place.traces())).toEqual([]);
    expect(await ask(place, { prompt: "[[recall]]", sessionId })).toMatchObject({ response: "token-heron" });
  });
});

describe("a turn that is cancelled while its agent works", () => {
  it.each([
    ["with an agent that ends on SIGTERM", "[[sleep 60000]]"],
    ["with an agent that does not listen", "[[fault hang]]"],
    ["with an agent that started others", "[[fault child 500]][[fault hang]]"],
  ])("%s is removed, and its session can be resumed", async (_, work) => {
    await using place = await createTurnPlace(proxy);
    const cancelling = new AbortController();
    const answer = toFailure(ask(place, { prompt: AT_WORK + work, signal: cancelling.signal }));
    await expect.poll(() => existsSync(join(place.workspace, "at-work")), { timeout: 20_000 }).toBe(true);
    expect(turnsIn(await place.traces())).toHaveLength(1);

    cancelling.abort();
    const { code, report } = await answer;

    expect(code).toBe("CANCELLED");
    expect(turnsIn(await place.traces())).toEqual([]);
    expect(proxy.pending()).toEqual([]);
    expect(await ask(place, { prompt: "[[say: Well.]]", sessionId: report.sessionId })).toMatchObject({
      response: "Well.",
    });
  });

  it("is removed, even if somebody paused its container", async () => {
    await using place = await createTurnPlace(proxy);
    const cancelling = new AbortController();
    const answer = toFailure(ask(place, { prompt: `${AT_WORK}[[fault hang]]`, signal: cancelling.signal }));
    await expect.poll(() => existsSync(join(place.workspace, "at-work")), { timeout: 20_000 }).toBe(true);
    await place.pauseTurn();

    cancelling.abort();

    expect((await answer).code).toBe("CANCELLED");
    expect(turnsIn(await place.traces())).toEqual([]);
  });

  it.each([
    ["while its answer is read", /^GET \S*\/containers\/budgie-session-\S+\/archive/, "Hello"],
    ["while its container is removed", /^DELETE \S*\/containers\/[0-9a-f]+\?/, "[[sleep 60000]]"],
  ] as const)("%s ends, and its session can be resumed", async (_, point, prompt) => {
    await using place = await createTurnPlace(proxy);
    const cancelling = new AbortController();
    const first = (await ask(place, { prompt: "Keep the word token-heron." })) as Reply;
    await expect.poll(async () => turnsIn(await place.traces())).toEqual([]);
    const { sessionId } = first;

    const outcome = await meet(point, {
      begin: () => {
        const end = toEnd(ask(place, { prompt: AT_WORK + prompt, sessionId, signal: cancelling.signal }));
        if (prompt !== "Hello") void untilAtWork(place).then(() => cancelling.abort());
        return end;
      },
      end: () => cancelling.abort(),
    });

    expect(["CANCELLED", "an answer"]).toContain(outcome);
    await expect.poll(async () => turnsIn(await place.traces())).toEqual([]);
    expect(await ask(place, { prompt: "[[recall]]", sessionId })).toMatchObject({ response: "token-heron" });
  });
});

type Asking = { readonly prompt: string; readonly sessionId?: string | undefined; readonly signal?: AbortSignal };

function ask(place: TurnPlace, { prompt, sessionId, signal }: Asking): Promise<Reply> {
  return place.runTurn({ agent: AGENT, prompt, directory: place.workspace, sessionId }, { signal });
}

function toEnd(answer: Promise<Reply>): Promise<string> {
  return answer.then(
    () => "an answer",
    (error: BudgieError) => error.code ?? error,
  );
}

function toFailure(answer: Promise<Reply>): Promise<BudgieError> {
  return answer.then(
    () => Promise.reject(new Error("It answered.")),
    (error: BudgieError) => error,
  );
}

type Meeting<T> = { readonly begin: () => Promise<T>; readonly end: () => void };

/** Starts something, ends it while the engine's answer to such a request is held back, and then releases the answer. */
async function meet<T>(point: RegExp, { begin, end }: Meeting<T>): Promise<T> {
  const before = proxy.requestLines().length;
  const release = proxy.hush(point);
  try {
    const begun = begin();
    await expect
      .poll(() => proxy.requestLines().slice(before), { timeout: 20_000 })
      .toContainEqual(expect.stringMatching(point));
    end();
    // By then, the listeners of the abort have run.
    await new Promise((resolve) => setImmediate(resolve));
    release();
    return await begun;
  } finally {
    release();
  }
}

function untilAtWork({ workspace }: TurnPlace): Promise<void> {
  return expect.poll(() => existsSync(join(workspace, "at-work")), { timeout: 20_000 }).toBe(true);
}

function turnsIn(traces: readonly string[]): readonly string[] {
  return traces.filter((name) => name.startsWith("budgie-turn-"));
}
