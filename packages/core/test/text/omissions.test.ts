import { expect, it } from "vitest";
import { createOmissions } from "@budgie/core/text";

it("keeps the first sentences, and counts the others", () => {
  const few = createOmissions();
  const many = createOmissions();
  few.add("one.");
  for (let index = 0; index < 100_000; index++) many.add(`file ${index}.`);

  expect(few.list()).toEqual(["one."]);
  expect(many.list()).toHaveLength(101);
  expect(many.list().slice(-2)).toEqual(["file 99.", "99900 more."]);
});
