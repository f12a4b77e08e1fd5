import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { LONGEST } from "../../../vitest.config.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

it("each file that starts before the others exists, and is named once", () => {
  expect(LONGEST.filter((name) => !existsSync(ROOT + name.slice(1)))).toEqual([]);
  expect(new Set(LONGEST).size).toBe(LONGEST.length);
});
