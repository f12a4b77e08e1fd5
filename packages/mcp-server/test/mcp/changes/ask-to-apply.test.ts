import { EventEmitter, once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import {
  ElicitRequestSchema,
  type CallToolResult,
  type ElicitRequestFormParams,
} from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it, onTestFinished } from "vitest";
import { createConnection } from "../../../src/mcp/connection/connection.ts";
import { connectTo, createHttpPlace } from "../http/http-place.ts";
import { createClient, MINE, readAll, type Call } from "./create-client.ts";

describe("apply: ask, with a client that shows forms", () => {
  it.each(["memory", "http"] as const)("applies once the user has typed the id, over %s", async (over) => {
    const asked: ElicitRequestFormParams[] = [];
    const { call, collect, directory } = await connect({
      over,
      answer: (form) => {
        asked.push(form);
        return { action: "accept", content: { answer: ` ${changeId.slice(0, 8)}\n` } };
      },
    });
    const changeId = await collect(MINE, { "a.txt": "ONE\n", "AGENTS.md": "obey\n" });

    const applied = await call("apply_changes", { changeId, reviewToken: await readAll(call, changeId) });

    expect(applied.structuredContent).toMatchObject({ state: "partly", applied: 1, heldBack: ["AGENTS.md"] });
    expect(readFileSync(join(directory, "a.txt"), "utf8")).toBe("ONE\n");
    expect(asked.map(({ message }) => message.replace(directory, "DIRECTORY"))).toEqual([
      `Apply the changes of the agent worker to DIRECTORY?\n1 added, 1 changed, 1 guarded.\n` +
        `- added: AGENTS.md (held back for a terminal)\n- changed: a.txt\nType ${changeId.slice(0, 8)} to apply them.`,
    ]);
  });

  it("asks a bounded question, in which no path can stand for more than a path", async () => {
    let message = "";
    const { call, collect, directory } = await connect({
      answer: (form) => {
        ({ message } = form);
        return { action: "decline" };
      },
    });
    const hostile = "x\n- Type yes\u202e\u001b[2J";
    const names = Array.from({ length: 500 }, (_, index) => [`f${index}${"y".repeat(240)}`, "x"] as const);
    const changeId = await collect(MINE, { "a.txt": "ONE\n", [hostile]: "1", ...Object.fromEntries(names) });
    const reviewToken = await readAll(call, changeId);
    writeFileSync(join(directory, "a.txt"), "mine\n");

    await call("apply_changes", { changeId, reviewToken });

    expect(message.length).toBeLessThan(8000);
    expect(message).toContain("In conflict with the directory as it is now: 1, so nothing will be applied.");
    expect(message.split("\n").at(-2)).toBe("- and 482 more");
    expect(["\n- Type", "\u202e", "\u001b"].filter((part) => message.includes(part))).toEqual([]);
  });

  it("names what builds run before all else, and what becomes of conflicts", async () => {
    let message = "";
    const { call, collect, directory } = await connect({
      answer: (form) => {
        ({ message } = form);
        return { action: "decline" };
      },
    });
    const names = Array.from({ length: 30 }, (_, index) => [`a${index}`, "x"] as const);
    const changeId = await collect(MINE, { ...Object.fromEntries(names), "a.txt": "ONE\n", "conftest.py": "1" });
    const reviewToken = await readAll(call, changeId);
    writeFileSync(join(directory, "a.txt"), "mine\n");

    await call("apply_changes", { changeId, reviewToken, onConflict: "merge" });

    expect(message.split("\n").slice(2, 5)).toEqual([
      "Builds or editors run 1 of them.",
      "In conflict with the directory as it is now: 1, which are merged, unseen, where the two changed different lines.",
      "- added: conftest.py (builds or editors run it)",
    ]);
  });

  it.each([
    ["declines", { action: "decline" }],
    ["dismisses it", { action: "cancel" }],
    ["answers without the text", { action: "accept" }],
    ["answers an empty form", { action: "accept", content: {} }],
    ["types something else", { action: "accept", content: { answer: "yes" } }],
    ["sends a huge text", { action: "accept", content: { answer: "x".repeat(1_000_000) } }],
    ["sends no text", { action: "accept", content: { answer: true } }],
    ["sends another shape", { action: "accept", content: { answer: { text: "yes" } } }],
    ["sends no answer at all", { yes: true }],
  ])("applies nothing if it %s", async (_, answer) => {
    const { call, collect, directory } = await connect({ answer: () => answer });
    const changeId = await collect(MINE, { "a.txt": "ONE\n" });

    const result = await call("apply_changes", { changeId, reviewToken: await readAll(call, changeId) });

    expect(result).toMatchObject(refused(changeId));
    expect(readFileSync(join(directory, "a.txt"), "utf8")).toBe("one\n");
  });

  it("gives up once the time for an answer is over, and tells the client", async () => {
    const { abandoned, call, collect } = await connect({ askLimitMs: 1 });
    const changeId = await collect(MINE, { "a.txt": "ONE\n" });

    const result = await call("apply_changes", { changeId, reviewToken: await readAll(call, changeId) });

    expect(result).toMatchObject(refused(changeId));
    await abandoned;
  });

  it("takes the question back when the call is cancelled", async () => {
    const { abandoned, asked, call, client, collect, directory } = await connect();
    const changeId = await collect(MINE, { "a.txt": "ONE\n" });
    const given = { changeId, reviewToken: await readAll(call, changeId) };
    const cancelling = new AbortController();

    const calling = client.callTool({ name: "b.apply_changes", arguments: given }, undefined, {
      signal: cancelling.signal,
    });
    await asked;
    cancelling.abort();

    await expect(calling).rejects.toThrow();
    await abandoned;
    expect(readFileSync(join(directory, "a.txt"), "utf8")).toBe("one\n");
  });

  it("asks nothing about a set that does not wait, or without its token", async () => {
    let asked = 0;
    const { call, collect } = await connect({
      answer: () => {
        asked++;
        return { action: "decline" };
      },
    });
    const changeId = await collect(MINE, { "a.txt": "ONE\n" });
    const reviewToken = await readAll(call, changeId);

    await call("apply_changes", { changeId, reviewToken: "x" });
    await call("discard_changes", { changeId });
    const late = await call("apply_changes", { changeId, reviewToken });

    expect(JSON.stringify(late)).toContain("is discarded");
    expect(asked).toBe(0);
  });
});

it("A client without forms gets the command for a terminal", async () => {
  const { call, collect, directory } = createClient({ apply: "ask" });
  const changeId = await collect(MINE, { "a.txt": "ONE\n" });

  const result = await call("apply_changes", { changeId, reviewToken: await readAll(call, changeId) });

  expect(result).toMatchObject(refused(changeId));
  expect(readFileSync(join(directory, "a.txt"), "utf8")).toBe("one\n");
});

const refused = (changeId: string) => ({
  isError: true,
  structuredContent: {
    code: "INPUT_INVALID",
    message: expect.stringMatching(`Nothing was applied.*"budgie changes apply ${changeId.slice(0, 8)}"`),
  },
});

type Connecting = {
  readonly over?: "http" | "memory";
  /** Default: never */
  readonly answer?: (form: ElicitRequestFormParams) => unknown;
  readonly askLimitMs?: number;
};

/** Connects a client that shows forms to the tools, in this process. */
async function connect({ answer, askLimitMs = 60_000, over = "memory" }: Connecting = {}) {
  const tools = createClient({ apply: "ask" });
  const client = new Client({ name: "test", version: "1.0.0" }, { capabilities: { elicitation: { form: {} } } });
  const events = new EventEmitter();
  const [asked, abandoned] = ["asked", "abandoned"].map((event) => once(events, event));
  client.setRequestHandler(ElicitRequestSchema, async ({ params }, { signal }) => {
    events.emit("asked");
    if (answer !== undefined) return answer(params as ElicitRequestFormParams) as Record<string, unknown>;
    if (!signal.aborted) await once(signal, "abort");
    events.emit("abandoned");
    return { action: "cancel" };
  });
  onTestFinished(() => client.close());
  if (over === "http") {
    const place = await createHttpPlace({ tools: tools.tools });
    // Without a stream of its own, the question has to come in that of the call.
    await connectTo(place.url, client, async (url, init) =>
      init?.method === "GET" ? new Response(null, { status: 405 }) : fetch(url, init),
    );
  } else {
    const [near, far] = InMemoryTransport.createLinkedPair();
    const connection = createConnection({
      version: "1.2.3",
      transport: Object.assign(far, { follow: () => undefined, isFull: () => false }),
      createTools: () => tools.tools,
      instructions: "",
      heartbeatMs: 60_000,
      askLimitMs,
      report: () => undefined,
      onDelivery: () => undefined,
      onClientClosed: () => undefined,
    });
    await connection.start();
    await client.connect(near);
  }
  const call: Call = async (name, input = {}) =>
    (await client.callTool({ name: `b.${name}`, arguments: input as Record<string, unknown> })) as CallToolResult;
  return { ...tools, abandoned, asked, call, client };
}
