import { expect, it } from "vitest";
import { listUnknownVariables } from "../../src/config/list-unknown-variables.ts";

it("An unknown variable is named, with the one that was probably meant", () => {
  const known = {
    BUDGIE_MODEL: "x",
    BUDGIE_HTTP_TOKEN: "x",
    BUDGIE_DEPTH: "1",
    BUDGIE_SESSION: "x",
    BUDGIE_TEST_IMAGE: "x",
  };

  expect(listUnknownVariables({ ...known, BUDGIE_AGENT_TIMOUT: "1m", BUDGIE_XYZ: "", HOME: "/" })).toEqual([
    'The variable BUDGIE_AGENT_TIMOUT is not one of budgie\'s, and is ignored. Did you mean "BUDGIE_AGENT_TIMEOUT"?',
    "The variable BUDGIE_XYZ is not one of budgie's, and is ignored.",
  ]);
});
