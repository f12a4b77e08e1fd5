import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { createExchanges } from "../../../src/mcp/http/pending-requests.ts";

describe("createExchanges", () => {
  it("holds a connection for as long as answers are to come on it, and no longer", () => {
    const exchanges = createExchanges();
    const response = new ServerResponse(new IncomingMessage(new Socket()));
    const exchange = exchanges.begin([1, 2], response);

    exchanges.settle(1);
    expect(exchange?.response).toBe(response);
    exchanges.settle(2);
    expect(exchange?.response).toBeUndefined();
  });
});
