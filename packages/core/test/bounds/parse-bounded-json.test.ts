import { expect, it } from "vitest";
import { JSON_BOUNDS } from "../../src/bounds/json-bounds.ts";
import { parseBoundedJson, parseCountedJson } from "../../src/bounds/parse-bounded-json.ts";

it("parseBoundedJson parses text and bytes, also those in the middle of others", () => {
  const bytes = new TextEncoder().encode('x{"a":"é"}x').subarray(1, -1);

  expect(parseBoundedJson('{"a":"é"}')).toEqual({ a: "é" });
  expect(parseCountedJson(bytes)).toEqual({ value: { a: "é" }, values: 3 });
});

it("parseBoundedJson refuses what exceeds a bound before it parses, and what is not JSON after that", () => {
  const many = `[${"1,".repeat(JSON_BOUNDS.values)}`;

  expect(() => parseBoundedJson(many)).toThrow(new RangeError("more than 50000 values"));
  expect(() => parseBoundedJson("[".repeat(501))).toThrow(new RangeError("more than 500 levels"));
  expect(() => parseBoundedJson("[1,")).toThrow(SyntaxError);
});
