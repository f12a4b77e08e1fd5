import { describe, expect, it, onTestFinished, vi } from "vitest";
import { failureOf } from "@budgie/testkit";
import { run } from "../helpers/run.ts";
import { createScriptedAgent, POLITE } from "../helpers/scripted-agent.ts";

describe("the answer", () => {
  it.each<[string, readonly (readonly [string, string?] | "tool")[], string]>([
    ["the text after the last tool", [["I look."], "tool", ["Do"], ["ne."]], "Done."],
    ["the last text if a tool comes last", [["Done."], "tool"], "Done."],
    [
      "the last message by its id",
      [
        ["One.", "a"],
        ["Tw", "b"],
        ["o.", "b"],
      ],
      "Two.",
    ],
    ["all text if there are neither", [["One. "], ["Two."]], "One. Two."],
    ["not begun anew by empty text", [["Done."], "tool", [""]], "Done."],
  ])("is %s", async (_what, parts, expected) => {
    const agent = createScriptedAgent({
      ...POLITE,
      "session/prompt": (_params, io) => {
        for (const part of parts) {
          if (part === "tool") io.update({ sessionUpdate: "tool_call_update", toolCallId: "t", title: "Edit" });
          else io.say(...part);
        }
        return { stopReason: "end_turn" };
      },
    });

    expect(await run(agent)).toMatchObject({ response: expected });
  });

  it("has none of the history that an agent replays after it has answered session/load", async () => {
    const agent = createScriptedAgent({
      ...POLITE,
      "session/load": (_params, io) => {
        setTimeout(() => io.say("An old answer."), 30);
        setTimeout(() => io.say("Another."), 90);
        return null;
      },
    });
    await run(agent);

    expect(await run(agent, { resume: true })).toMatchObject({ response: "Hello." });
  });

  it("survives a banner, unknown updates, notifications and answers, of which nothing is printed", async () => {
    const printed = vi.spyOn(console, "error");
    onTestFinished(() => printed.mockRestore());
    const agent = createScriptedAgent({
      ...POLITE,
      "session/prompt": (_params, io) => {
        io.print("Welcome!\n[1, 2]\nnull\n\n");
        io.send({ method: "_vendor/x", params: {} });
        io.send({ id: "\u001B[31mred", result: {} });
        io.update({ sessionUpdate: "future", a: 1 });
        io.update({ sessionUpdate: "agent_message_chunk", content: { type: "hologram" } });
        io.update({ sessionUpdate: "tool_call", toolCallId: "t", title: "x", kind: "odd", status: "weird" });
        io.say("Of another session.", "c9");
        io.update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: "No." } }, "c2");
        io.say("Hello.", "c10");
        return { stopReason: "end_turn" };
      },
    });

    expect(await run(agent)).toMatchObject({ response: "Hello." });
    expect(printed).not.toHaveBeenCalled();
  });

  it("is bounded, and says that its end is missing", async () => {
    const agent = createScriptedAgent({
      ...POLITE,
      "session/prompt": (_params, io) => {
        for (let piece = 0; piece < 5; piece++) io.say("x".repeat(2 ** 20));
        return { stopReason: "end_turn" };
      },
    });

    const { response, warnings } = await run(agent);

    expect(response).toHaveLength(4 * 2 ** 20);
    expect(warnings).toEqual(["The answer was too long, and its end was discarded."]);
  });

  it("fails for a message larger than budgie reads, and ends the agent", async () => {
    const agent = createScriptedAgent({
      ...POLITE,
      "session/prompt": (_params, io) => {
        io.print(`{${"x".repeat(5 * 2 ** 20)}`);
        return new Promise(() => undefined);
      },
    });

    expect(await failureOf(run(agent))).toMatchObject({
      code: "AGENT_FAILED",
      message: expect.stringContaining("4 MiB"),
    });
    expect(agent.stops).toEqual(["shutdown"]);
  });
});
