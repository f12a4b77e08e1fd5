import { expect, it } from "vitest";
import { parseJson } from "../../src/text/parse-json.ts";

it.each([
  ["[1,]", "line 1, column 4: value expected"],
  ['{\n"a" 1}', "line 2, column 5: colon expected"],
  // The bound on levels counts no bracket that it takes for a part of the broken string.
  [`["\\\n"${"[".repeat(200_000)}`, "line 1, column 2: invalid escape character"],
  [`/*"*/${"[".repeat(200_000)}`, /^(?:it is not JSON|line 1, column \d+: .+)$/],
])("the fault of broken JSON is named, and never a stack that is too deep (%#)", (text, fault) => {
  expect(() => parseJson(text)).toThrow(SyntaxError);
  expect(() => parseJson(text)).toThrow(fault);
});
