import { describe, expect, it } from "vitest";
import { TurnEvents } from "@budgie/core/protocol";
import { createAnswer } from "../../../src/a2a/turn/answer.ts";
import { toUpdate } from "../../../src/a2a/wire/wire.ts";

const PIECES = 30_000;
const QUIET = { events: new TurnEvents(), mask: (text: string) => text };

describe("the answer of a turn", () => {
  it("takes about as long for data in many pieces as for text", () => {
    const text = measure((index) => [toArtifact("a", { text: `piece of text ${index}` })]);
    const data = measure((index) => [toArtifact("a", { data: `piece of data ${index}` })]);

    expect(data / text).toBeLessThan(8);
  });

  it("takes about as long for pieces of the last of many artifacts as for those of one", () => {
    const others = Array.from({ length: 999 }, (_, index) => toArtifact(`other-${index}`, { text: "x" }));
    const one = measure(() => [toArtifact("a", { text: "x" })]);
    const many = measure((index) => (index === 0 ? others : [toArtifact("a", { text: "x" })]));

    expect(many / one).toBeLessThan(8);
  });

  it("counts an artifact that is sent anew once", () => {
    const answer = createAnswer(QUIET);
    const whole = toArtifact("a", { text: "x".repeat(3 * 2 ** 20) }, false);
    for (let time = 0; time < 4; time++) answer.add(toUpdate(whole));
    answer.add(toUpdate(toArtifact("b", { text: "y".repeat(2 ** 20) })));

    expect(answer.isTruncated()).toBe(false);
    expect(answer.text().length).toBe(4 * 2 ** 20);
  });
});

/** Returns the shortest of three times in which an answer takes pieces, since other work may interrupt one. */
function measure(toPieces: (index: number) => readonly unknown[]): number {
  return Math.min(...[1, 2, 3].map(() => measureOnce(toPieces)));
}

function measureOnce(toPieces: (index: number) => readonly unknown[]): number {
  const answer = createAnswer(QUIET);
  const began = performance.now();
  for (let index = 0; index < PIECES; index++) {
    for (const piece of toPieces(index)) answer.add(toUpdate(piece));
  }
  answer.text();
  return performance.now() - began;
}

function toArtifact(artifactId: string, part: object, append = true) {
  return { artifactUpdate: { append, artifact: { artifactId, parts: [part] } } };
}
