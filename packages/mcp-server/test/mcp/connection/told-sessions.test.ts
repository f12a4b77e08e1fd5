import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it } from "vitest";
import { createSessionId } from "@budgie/core";
import { createToldSessions } from "../../../src/mcp/connection/told-sessions.ts";

const [A, B] = [createSessionId(), createSessionId()];

/** Creates the record of a client, and the list of the results that are proved to have arrived. */
function create() {
  const proved: string[] = [];
  const { name, tell } = createToldSessions();
  const toResult = (facts: CallToolResult["structuredContent"]): CallToolResult => ({
    content: [],
    structuredContent: facts,
  });
  const answer = (what: string, facts: CallToolResult["structuredContent"]): void =>
    tell(toResult(facts), () => void proved.push(what));
  return { answer, name, proved };
}

describe("a call that names a session", () => {
  it("proves once that the one result arrived which told its id", () => {
    const { answer, name, proved } = create();
    answer("first", { results: [{ sessionId: A }, { code: "QUEUE_FULL" }] });
    answer("other", { sessionId: B });

    name(A);
    name(A);

    expect(proved).toEqual(["first"]);
  });

  it("proves nothing if two results told its id, as of a running call and of its status", () => {
    const { answer, name, proved } = create();
    answer("running", { sessionId: A });
    answer("status", { runs: [{ sessionId: A }, { runId: "not begun" }] });
    answer("done", { sessionId: A });

    name(A);

    expect(proved).toEqual([]);
  });

  it("proves nothing if the client knew the id before", () => {
    const { answer, name, proved } = create();
    name(A);
    answer("second", { sessionId: A });

    for (const sessionId of [A, "", undefined, 7]) name(sessionId);

    expect(proved).toEqual([]);
  });

  it("proves nothing about sessions beyond the first 1,000, of which none is a name that budgie never gave", () => {
    const { answer, name, proved } = create();
    const ids = Array.from({ length: 1_001 }, createSessionId);
    for (const id of ids) name(`${id} and more`);
    for (const [index, sessionId] of ids.entries()) answer(`${index}`, { sessionId });

    for (const id of ids.slice(-2)) name(id);

    expect(proved).toEqual(["999"]);
  });
});
