import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { HTTP_LIMITS } from "../../../src/mcp/http/http-limits.ts";

const DOCUMENT = readFileSync(new URL("../../../../../docs/http.md", import.meta.url), "utf8");

it("HTTP_LIMITS are the limits in docs/http.md", () => {
  const { bodyBytes, callsPerSession, connections, eventBytes, events, headersMs, requestMs, sessions, yieldAfterMs } =
    HTTP_LIMITS;

  for (const row of [
    `| sessions at once | ${sessions} | the one that was idle for longest ends, if for at least ${yieldAfterMs / 1000} s; else 503`,
    `| requests of a session that wait for their answer | ${callsPerSession} |`,
    `| a request | ${bodyBytes / 1024 ** 2} MiB |`,
    `| a request's headers, and all of it | ${headersMs / 1000} s and ${requestMs / 1000} s |`,
    `| connections | ${connections} |`,
    `| ${events.toLocaleString("en-US")} events, ${eventBytes / 1024 ** 2} MiB |`,
  ]) {
    expect(DOCUMENT).toContain(row);
  }
});
