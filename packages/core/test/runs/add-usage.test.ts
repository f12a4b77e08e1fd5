import { expect, it } from "vitest";
import { addTokens } from "@budgie/core/runs";

it("Tokens are added up to the largest number that each reader of the run log takes", () => {
  const most = Number.MAX_SAFE_INTEGER;

  expect(addTokens({ inputTokens: most, outputTokens: 1 }, { inputTokens: most, outputTokens: 2 })).toEqual({
    inputTokens: most,
    outputTokens: 3,
  });
});
