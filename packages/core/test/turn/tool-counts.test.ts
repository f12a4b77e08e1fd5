import { describe, expect, it } from "vitest";
import { createToolCounts } from "../../src/turn/tool-counts.ts";

describe("the tools of a turn", () => {
  it("are counted in the order of their first uses", () => {
    const tools = createToolCounts();

    for (const tool of ["edit", "shell", "edit"]) tools.add(tool);

    expect(tools.list()).toEqual([
      { name: "edit", count: 2 },
      { name: "shell", count: 1 },
    ]);
  });

  it("are few, short and on one line, whatever their program calls them", () => {
    const tools = createToolCounts();

    tools.add(`a\nb\u001B[2J${"x".repeat(1000)}`);
    for (let index = 0; index < 100; index++) tools.add(`tool-${index}`);

    const listed = tools.list();
    expect(listed[0]?.name).toMatch(/^a bx{50,}$/);
    expect(listed[0]?.name.length).toBeLessThanOrEqual(100);
    expect(listed).toHaveLength(51);
    expect(listed.at(-1)).toEqual({ name: "(others)", count: 51 });
  });
});
