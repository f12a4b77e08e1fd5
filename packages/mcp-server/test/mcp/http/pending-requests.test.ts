import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { createPendingRequests } from "../../../src/mcp/http/pending-requests.ts";

describe("createPendingRequests", () => {
  it("keeps a connection open only while answers are pending on it", () => {
    const pending = createPendingRequests();
    const response = new ServerResponse(new IncomingMessage(new Socket()));
    const batch = pending.begin([1, 2], response);

    pending.settle(1);
    expect(batch?.response).toBe(response);
    pending.settle(2);
    expect(batch?.response).toBeUndefined();
  });
});
