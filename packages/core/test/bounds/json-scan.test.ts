import { describe, expect, it } from "vitest";
import { createJsonScan } from "../../src/bounds/json-scan.ts";

const PLENTY = { values: 1e9, depth: 1e9 };

function count(json: string, bounds = PLENTY): number {
  return createJsonScan(bounds)(Buffer.from(json));
}

describe("createJsonScan", () => {
  it.each([
    ["1", 0],
    ['"a"', 1],
    ["[1,2,3]", 3],
    ['{"a":{},"b":[]}', 6],
    [String.raw`["\"[[[,,,", "\\", "{}"]`, 6],
  ])("counts the strings, brackets and commas of %s", (json, expected) => {
    expect(count(json)).toBe(expected);
  });

  it("counts at least half of all values and keys", () => {
    const value = { a: [1, null, { b: true }, ["x", {}]], c: { d: "e", f: [[[]]] } };
    let real = 0;
    JSON.parse(JSON.stringify(value), (key, each: unknown) => {
      real += /^[a-z]/.test(key) ? 2 : 1;
      return each;
    });

    expect(count(JSON.stringify(value))).toBeGreaterThanOrEqual(real / 2);
  });

  it("counts the same however the text is cut", () => {
    const json = Buffer.from(String.raw`{"\\\"[": "é{\\", "b": ["\u0022,", [], {"c\"d": 1}]}`);
    const whole = createJsonScan(PLENTY)(json);

    for (let first = 0; first <= json.length; first += 1) {
      for (let second = first; second <= json.length; second += 1) {
        const scan = createJsonScan(PLENTY);
        const pieces = [json.subarray(0, first), json.subarray(first, second), json.subarray(second)];
        expect(pieces.reduce((sum, piece) => sum + scan(piece), 0)).toBe(whole);
      }
    }
  });

  it("names the bound that a text exceeds, and refuses none at it", () => {
    const bounds = { values: 3, depth: 2 };

    expect(count("[1,2,3]", bounds)).toBe(3);
    expect(() => count("[1,2,3,4]", bounds)).toThrow(new RangeError("more than 3 values"));
    expect(() => count("[[[]]]", bounds)).toThrow(new RangeError("more than 2 levels"));
  });

  it.each([': "', ": \\", ': "\\', ": ]]]]"])("hides nothing in the event after the line %j", (line) => {
    const hidden = `${line}\ndata: [[${"1,".repeat(9)}1]]`;

    expect(() => count(hidden, { values: 10, depth: 9 })).toThrow("more than 10 values");
    expect(() => count(hidden, { values: 99, depth: 1 })).toThrow("more than 1 levels");
  });

  it("refuses a million objects in a twentieth of the time that it takes to parse them", () => {
    const json = Buffer.from(`[${"{},".repeat(1e6)}{}]`);
    const parsing = toMs(() => JSON.parse(json.toString("utf8")));
    const refuse = () => expect(() => createJsonScan({ values: 10_000, depth: 500 })(json)).toThrow(RangeError);
    // Another process may have the processor meanwhile, which adds more to the shorter time.
    const refusing = Array.from({ length: 5 }, () => toMs(refuse));

    expect(Math.min(...refusing)).toBeLessThan(parsing / 20);
  });
});

function toMs(work: () => void): number {
  work();
  const began = performance.now();
  work();
  return performance.now() - began;
}
