import { expect, it } from "vitest";
import { expandId, shortId } from "../../src/terminal/expand-id.ts";

const IDS = ["c2325f01-aaaa", "c2325f02-bbbb", "d0"];

it("The beginning of an id stands for the only one that has it", () => {
  expect(expandId("c2325f01", IDS)).toBe("c2325f01-aaaa");
  expect(expandId(shortId("c2325f02-bbbb"), IDS)).toBe("c2325f02-bbbb");
  expect(expandId("d0", [...IDS, "d00"])).toBe("d0");
});

it("An unknown id stays, and a beginning of several is refused with them", () => {
  expect(expandId("e", IDS)).toBe("e");
  expect(expandId("", IDS)).toBe("");
  expect(() => expandId("c2", IDS)).toThrow('begin with "c2", such as "c2325f01-aaaa", "c2325f02-bbbb". Give more');
});
