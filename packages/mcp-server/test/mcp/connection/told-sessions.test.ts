import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it } from "vitest";
import { createToldSessions } from "../../../src/mcp/connection/told-sessions.ts";

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
    answer("first", { sessionId: "a" });
    answer("other", { sessionId: "b" });

    name("a");
    name("a");

    expect(proved).toEqual(["first"]);
  });

  it("proves nothing if two results told its id, as of a running call and of its status", () => {
    const { answer, name, proved } = create();
    answer("running", { sessionId: "a" });
    answer("status", { runs: [{ sessionId: "a" }, { runId: "not begun" }] });
    answer("done", { sessionId: "a" });

    name("a");

    expect(proved).toEqual([]);
  });

  it("proves nothing if the client knew the id before", () => {
    const { answer, name, proved } = create();
    name("a");
    answer("second", { sessionId: "a" });

    for (const sessionId of ["a", "", undefined, 7]) name(sessionId);

    expect(proved).toEqual([]);
  });

  it("proves nothing about sessions beyond the first 1,000", () => {
    const { answer, name, proved } = create();
    for (let id = 0; id <= 1_000; id++) answer(`${id}`, { sessionId: `session-${id}` });

    for (const id of [999, 1_000]) name(`session-${id}`);

    expect(proved).toEqual(["999"]);
  });
});
