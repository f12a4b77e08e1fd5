import { describe, expect, it } from "vitest";
import { createToolUses } from "../../../src/acp/answer/tool-uses.ts";

describe("the uses of tools", () => {
  it("count each call once, by its kind, however many updates it has", () => {
    const used: string[] = [];
    const uses = createToolUses((kind) => void used.push(kind));

    uses.add({ toolCallId: "1", kind: "edit" });
    uses.add({ toolCallId: "1", kind: "edit" });
    uses.add({ toolCallId: "2", kind: "execute" });
    uses.add({ toolCallId: "3" });
    uses.add({ toolCallId: "4", kind: "\u001B[2Jforged" });

    expect(used).toEqual(["edit", "execute", "other", "other"]);
  });

  it("are bounded, whatever ids an agent invents", () => {
    let count = 0;
    const uses = createToolUses(() => void count++);

    for (let id = 0; id < 20_000; id++) uses.add({ toolCallId: `${id}`, kind: "read" });
    uses.add({ toolCallId: 7, kind: {} });

    expect(count).toBe(10_000);
  });
});
