import { describe, expect, it } from "vitest";
import { formatTable } from "../../src/terminal/format-table.ts";

const ROWS = [
  ["RUN", "OUTCOME", "DIRECTORY"],
  ["0a1b2c3d", "answered", `/home/user/${"deep/".repeat(50)}end`],
  ["4e5f6a7b", "TURN_TIMEOUT", "/work"],
];
const PLAIN = { NO_COLOR: "1" };

describe("a table", () => {
  it.each([60, 80, 100, 200])("fits a terminal of %i columns", (columns) => {
    const lines = formatTable(ROWS, { env: PLAIN, columns });

    expect(lines.filter((line) => line.length > columns)).toEqual([]);
    expect(lines[1]).toMatch(/^0a1b2c3d {2}answered {6}\/home\/user\/.*…$/);
  });

  it("takes no more than 200 columns of a wide terminal, and no fewer than 60 of a narrow one", () => {
    expect(formatTable(ROWS, { env: PLAIN, columns: 500 })[1]).toHaveLength(200);
    expect(formatTable(ROWS, { env: PLAIN, columns: 20 })[1]).toHaveLength(60);
  });

  it("is whole where no terminal is", () => {
    expect(formatTable(ROWS, { env: {}, columns: undefined })[1]).toContain("deep/end");
    expect(formatTable(ROWS, { env: {}, columns: undefined }).join("")).not.toContain("\u001B");
  });

  it("has colours for outcomes on a terminal alone, and none with NO_COLOR", () => {
    const [, good = "", bad = ""] = formatTable(ROWS, { env: {}, columns: 80 });

    expect(good).toContain("\u001B[32manswered\u001B[39m");
    expect(bad).toContain("\u001B[31mTURN_TIMEOUT\u001B[39m");
    expect(formatTable(ROWS, { env: PLAIN, columns: 80 }).join("")).not.toContain("\u001B");
  });
});
