import { expect, it } from "vitest";
import { parseRequest } from "../../src/bounds/parse-request.ts";

const toJson = (method: string, most: number): string =>
  JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method,
    params: { clientInfo: { icons: Array.from({ length: most }, () => 1) } },
  });

it("A message of 10,000 values is parsed, an initialize only of 1,000, also in a list", () => {
  expect(parseRequest(toJson("tools/call", 5000))).toMatchObject({ value: { method: "tools/call" } });
  expect(parseRequest(toJson("initialize", 900))).toMatchObject({ value: { method: "initialize" } });

  expect(() => parseRequest(toJson("tools/call", 10_000))).toThrow(new RangeError("more than 10000 values"));
  for (const json of [toJson("initialize", 1000), `[1,null,${toJson("initialize", 1000)}]`]) {
    expect(() => parseRequest(json)).toThrow(new RangeError("more than 1000 values"));
  }
});

it("A message whose id has more than 1,000 characters is refused, also in a list and as an answer", () => {
  const toMessage = (id: string): string => JSON.stringify({ jsonrpc: "2.0", id, result: {} });

  expect(parseRequest(toMessage("x".repeat(1000)))).toMatchObject({ value: { result: {} } });
  for (const json of [toMessage("x".repeat(1001)), `[1,null,${toMessage("x".repeat(1001))}]`]) {
    expect(() => parseRequest(json)).toThrow(new RangeError("an id of more than 1000 characters"));
  }
});
