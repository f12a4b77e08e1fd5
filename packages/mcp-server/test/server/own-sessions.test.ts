import { describe, expect, it } from "vitest";
import { BudgieError, createSessionId, type Reply, type RunTurn, type TurnRequest } from "@budgie/core";
import { TurnEvents } from "@budgie/core/protocol";
import { createSessionOwners, ownSessions } from "../../src/server/own-sessions.ts";
import { throughStep } from "../../../cli/test/helpers/through-step.ts";

type Setup = ReturnType<typeof createPlace>;

const NEW = { agent: "a", prompt: "x", directory: "/d" };

/** Creates sessions and turns like the core's; the test decides when a turn ends. */
function createPlace(kept: readonly string[] = []) {
  const open = new Set<string>();
  const waiting = new Set(kept);
  const asked: TurnRequest[] = [];
  const ended: string[] = [];
  let gate: Promise<void> = Promise.resolve();

  const runTurn: RunTurn = async (request, { events } = {}) => {
    asked.push(request);
    await gate;
    const sessionId = request.sessionId ?? createSessionId();
    if (request.sessionId !== undefined && !open.has(sessionId) && !waiting.delete(sessionId)) {
      throw new BudgieError("SESSION_NOT_FOUND", `There is no session "${sessionId}" here.`);
    }
    open.add(sessionId);
    if (request.directory !== NEW.directory) throw new BudgieError("INPUT_INVALID", "another directory");
    events?.emit("session", sessionId);
    if (request.prompt === "fail") throw new BudgieError("AGENT_FAILED", "no");
    return { sessionId, response: "ok" } as Reply;
  };
  const owners = createSessionOwners({
    async end(ids) {
      ended.push(...ids);
      for (const id of ids) open.delete(id);
    },
  });
  const addClient = () => {
    const owner = owners.addClient();
    return { runTurn: throughStep(ownSessions(owner), runTurn), leave: owner.remove };
  };
  return { addClient, asked, ended, open, hold: (until: Promise<void>) => void (gate = until) };
}

const idOf = async (turn: Promise<Reply>): Promise<string> => (await turn).sessionId;
const failureOf = (turn: Promise<Reply>): Promise<unknown> =>
  turn.then(
    () => "no failure",
    (error: unknown) => error,
  );

describe("a client's session", () => {
  it("can be resumed by its client, and is unknown to another, word for word", async () => {
    const { asked, addClient } = createPlace();
    const [one, two] = [addClient(), addClient()];
    const sessionId = await idOf(one.runTurn(NEW));
    const unknown = createSessionId();
    const before = asked.length;

    const foreign = await failureOf(two.runTurn({ ...NEW, sessionId }));
    const really = await failureOf(two.runTurn({ ...NEW, sessionId: unknown }));

    expect(foreign).toMatchObject({ code: "SESSION_NOT_FOUND", report: {} });
    expect(String(foreign).replace(sessionId, unknown)).toBe(String(really));
    // The core never saw its id.
    expect(asked.slice(before).map((request) => request.sessionId)).not.toContain(sessionId);
    expect(await idOf(one.runTurn({ ...NEW, sessionId }))).toBe(sessionId);
  });

  it("belongs to its client once it is open, even if the turn fails", async () => {
    const { addClient } = createPlace();
    const [one, two] = [addClient(), addClient()];
    let sessionId = "";
    const events = new TurnEvents().on("session", (id) => void (sessionId = id));

    await failureOf(one.runTurn({ ...NEW, prompt: "fail" }, { events }));

    expect(await failureOf(two.runTurn({ ...NEW, sessionId }))).toMatchObject({ code: "SESSION_NOT_FOUND" });
    expect(await idOf(one.runTurn({ ...NEW, sessionId }))).toBe(sessionId);
  });

  it("ends with its client, and no other's does", async () => {
    const { ended, open, addClient } = createPlace();
    const [one, two] = [addClient(), addClient()];
    const ids = [await idOf(one.runTurn(NEW)), await idOf(one.runTurn(NEW))];
    const others = await idOf(two.runTurn(NEW));

    await one.leave();

    expect(ended).toEqual(ids);
    expect([...open]).toEqual([others]);
  });

  it("whose id is malformed is left to the core", async () => {
    const { asked, addClient } = createPlace();

    await failureOf(addClient().runTurn({ ...NEW, sessionId: "../x" }));

    expect(asked[0]?.sessionId).toBe("../x");
  });
});

describe("a kept session", () => {
  it("belongs to the first of two clients that name it at once", async () => {
    const kept = createSessionId();
    const place = createPlace([kept]);
    const [one, two] = [place.addClient(), place.addClient()];
    let start = (): void => undefined;
    place.hold(new Promise((resolve) => (start = resolve)));

    const both = [one, two].map(({ runTurn }) => runTurn({ ...NEW, sessionId: kept }).then(idOnly, codeOnly));
    start();

    expect(await Promise.all(both)).toEqual([kept, "SESSION_NOT_FOUND"]);
    expect(await failureOf(two.runTurn({ ...NEW, sessionId: kept }))).toMatchObject({ code: "SESSION_NOT_FOUND" });
  });

  it("is free again after its client failed to resume it, or has left", async () => {
    const kept = createSessionId();
    const { addClient } = createPlace();
    const [one, two] = [addClient(), addClient()];
    await failureOf(one.runTurn({ ...NEW, sessionId: kept }));
    const place = createPlace([kept]);
    const [first, second] = [place.addClient(), place.addClient()];
    await first.runTurn({ ...NEW, sessionId: kept });
    await leaveKeeping(place, first, kept);

    expect(await failureOf(two.runTurn({ ...NEW, sessionId: kept }))).toMatchObject({ code: "SESSION_NOT_FOUND" });
    expect(await idOf(second.runTurn({ ...NEW, sessionId: kept }))).toBe(kept);
  });

  it("is not given to a client that names it with a wrong directory", async () => {
    const kept = createSessionId();
    const place = createPlace([kept]);
    const [one, two] = [place.addClient(), place.addClient()];

    const wrong = await failureOf(one.runTurn({ ...NEW, directory: "/other", sessionId: kept }));

    expect(wrong).toMatchObject({ code: "INPUT_INVALID" });
    expect(await idOf(two.runTurn({ ...NEW, sessionId: kept }))).toBe(kept);
    expect(await failureOf(one.runTurn({ ...NEW, sessionId: kept }))).toMatchObject({ code: "SESSION_NOT_FOUND" });
  });
});

/** Ends a client but leaves its sessions, as with `--keep-sessions`. */
async function leaveKeeping({ open }: Setup, client: { leave: () => Promise<void> }, id: string): Promise<void> {
  await client.leave();
  open.add(id);
}

const idOnly = ({ sessionId }: Reply): string => sessionId;
const codeOnly = (error: BudgieError): string => error.code;
