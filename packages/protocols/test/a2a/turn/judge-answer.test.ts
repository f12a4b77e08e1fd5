import { expect, it } from "vitest";
import { TurnEvents } from "@budgie/core/protocol";
import { createAnswer } from "../../../src/a2a/turn/answer.ts";
import { judgeAnswer } from "../../../src/a2a/turn/judge-answer.ts";
import { toUpdate } from "../../../src/a2a/wire/wire.ts";

const mask = (text: string) => text;

it("a state that is named like a method of every object is unknown, and no failure", () => {
  const answer = createAnswer({ events: new TurnEvents(), mask });
  answer.add(toUpdate({ id: "t1", status: { state: "constructor", message: { parts: [{ text: "Done." }] } } }));

  expect(judgeAnswer(answer, { who: "the agent", warnings: [], mask })).toMatchObject({
    response: "Done.",
    warnings: [expect.stringContaining("unknown state")],
  });
});
