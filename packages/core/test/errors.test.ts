import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ERROR_CODES } from "@budgie/core";

describe("docs/errors.md", () => {
  const page = readFileSync(new URL("../../../docs/errors.md", import.meta.url), "utf8");
  const sections = page.split(/^## /m).slice(1);

  it("has a heading for each code, in the same order, and no other", () => {
    expect(sections.map((section) => section.split("\n")[0])).toEqual([...ERROR_CODES]);
  });

  it("gives cause and remedy of each", () => {
    const wanting = sections.filter(
      (text) => !/^\*\*Cause\.\*\* \S/m.test(text) || !/^\*\*Remedy\.\*\* \S/m.test(text),
    );

    expect(wanting).toEqual([]);
  });
});
