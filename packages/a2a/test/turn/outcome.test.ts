import { expect, it } from "vitest";
import { createAnswer } from "../../src/turn/answer.ts";
import { toAnswer } from "../../src/turn/outcome.ts";
import { toUpdate } from "../../src/wire/wire.ts";

const mask = (text: string) => text;

it("a state that is named like a method of every object is unknown, and no failure", () => {
  const answer = createAnswer({ onText: () => undefined, onActivity: () => undefined, mask });
  answer.add(toUpdate({ id: "t1", status: { state: "constructor", message: { parts: [{ text: "Done." }] } } }));

  expect(toAnswer(answer, { who: "the agent", warnings: [], mask })).toMatchObject({
    response: "Done.",
    warnings: [expect.stringContaining("unknown state")],
  });
});
