import { describe, expect, it } from "vitest";
import { createStyle } from "../../src/terminal/style.ts";

describe("colour", () => {
  it.each([
    ["on a terminal", { columns: 80, env: {} }, true],
    ["in a pipe", { columns: undefined, env: {} }, false],
    ["with NO_COLOR", { columns: 80, env: { NO_COLOR: "1" } }, false],
    ["in CI", { columns: 80, env: { CI: "true" } }, false],
    ["on a dumb terminal", { columns: 80, env: { TERM: "dumb" } }, false],
  ])("%s", (_, output, isColoured) => {
    expect(createStyle(output)("red", "x") !== "x").toBe(isColoured);
  });
});
