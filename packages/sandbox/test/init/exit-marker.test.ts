import { buffer, text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createOutput, awaitExitMarker, type Output } from "../../src/init/exit-marker.ts";

const TOKEN = "6f1c3c1e-6ab7-4f39-a6f0-9c6a5c1d2e3f";
const WORD = `\0${TOKEN} 3 0\n`;

function say(output: Output, ...pieces: readonly (string | Buffer)[]): void {
  for (const piece of pieces) output.stream.write(piece);
}

async function readEnded(...pieces: readonly (string | Buffer)[]): Promise<Buffer> {
  const output = createOutput(TOKEN);
  say(output, ...pieces);
  output.stream.end();
  return buffer(output.stream);
}

function inPieces(bytes: Buffer, size: number): readonly Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );
}

describe("an output with an exit marker", () => {
  it.each([1, 2, 7, 36, 37, 38, 40, 1000])(
    "finds it in pieces of %i bytes, and hides it from the reader",
    async (size) => {
      const output = createOutput(TOKEN);
      const said = Buffer.concat([Buffer.from([0, 255, 0, 1]), Buffer.from("no line's end"), Buffer.from(WORD)]);
      say(output, ...inPieces(said, size));

      expect(await output.exitMarker).toEqual({ exitCode: 3, oomKills: 0 });
      output.end();
      expect(await buffer(output.stream)).toEqual(said.subarray(0, said.length - WORD.length));
    },
  );

  it.each([
    ["0 2", { exitCode: 0, oomKills: 2 }],
    ["137 ", { exitCode: 137, oomKills: undefined }],
  ])("accepts %j", async (said, word) => {
    const output = createOutput(TOKEN);
    say(output, `\0${TOKEN} ${said}\n`);

    expect(await output.exitMarker).toEqual(word);
  });

  it.each([
    { what: "goes on", said: `before\0${TOKEN}`, ends: false, isCutOff: false },
    { what: "has the marker", said: `before${WORD}`, ends: true, isCutOff: false },
    { what: "has nothing more", said: `before\0${TOKEN}`, ends: true, isCutOff: true },
  ])("is cut off ($isCutOff) if it $what", ({ said, ends, isCutOff }) => {
    const output = createOutput(TOKEN);
    say(output, said);

    if (ends) output.stream.end();

    expect(output.isCutOff()).toBe(isCutOff);
  });

  it("ends for the reader while the connection is open, and drops later data", async () => {
    const output = createOutput(TOKEN);
    const reading = text(output.stream);
    say(output, "before", WORD, "after");
    await output.exitMarker;
    say(output, "later");

    output.end();

    expect(await reading).toBe("before");
    say(output, "much later");
    output.stream.end();
  });

  it.each([
    ["another token", WORD.replace("6f", "7f")],
    ["no NUL before it", WORD.slice(1)],
    ["an exit code that is none", `\0${TOKEN} x 0\n`],
    ["an exit code with more digits than one has", `\0${TOKEN} 1000 0\n`],
    ["no line's end", `\0${TOKEN} 3 0`],
    ["a beginning alone", `\0${TOKEN.slice(0, 5)}`],
    ["NULs alone", "\0\0\0"],
  ])("passes on %s", async (_, said) => {
    const long = `${said}${"x".repeat(100)}\n`;

    expect((await readEnded(said)).toString()).toBe(said);
    expect((await readEnded(...inPieces(Buffer.from(long), 10))).toString()).toBe(long);
  });

  it("delays nothing that cannot be the beginning of one", async () => {
    const output = createOutput(TOKEN);
    const heard: string[] = [];
    output.stream.on("data", (chunk: Buffer) => heard.push(chunk.toString("latin1")));

    for (const piece of ["a", `\0${TOKEN}x`, TOKEN, "\0b"]) {
      say(output, piece);
      await sleep(1);
    }

    expect(heard.join("")).toBe(`a\0${TOKEN}x${TOKEN}\0b`);
  });
});

describe("awaitExitMarker", () => {
  it("waits for both streams, and for the end of the last process", async () => {
    const { outputs, root } = open();
    const order: string[] = [];
    const hearing = awaitExitMarker(outputs, root.container).then((word) => (order.push("heard"), word));
    say(outputs[0], WORD);
    await sleep(20);
    order.push("one stream");
    say(outputs[1], WORD);
    await sleep(20);
    order.push("both");
    root.end();

    expect(await hearing).toEqual({ exitCode: 3, oomKills: 0 });
    expect(order).toEqual(["one stream", "both", "heard"]);
  });

  it("ignores the marker of a container that keeps running", async () => {
    const { outputs, root } = open();
    outputs.forEach((output) => say(output, WORD));

    expect(await awaitExitMarker(outputs, root.container)).toBeUndefined();
    expect(root.asked()).toBeGreaterThan(10);
  });

  it.each([
    ["believes a container that ran out of memory", "1", { exitCode: 3, oomKills: 1 }],
    ["leaves a container that cannot tell of its memory to its engine", "", undefined],
  ])("%s", async (_, kills, heard) => {
    const { outputs, root } = open();
    root.end();
    outputs.forEach((output) => say(output, WORD.replace("0\n", `${kills}\n`)));

    expect(await awaitExitMarker(outputs, root.container)).toEqual(heard);
  });
});

function open() {
  let hasEnded = false;
  let asked = 0;
  const outputs = [createOutput(TOKEN), createOutput(TOKEN)] as const;
  const container = {
    path: "/",
    hasEnded: async () => (asked++, hasEnded),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  return { outputs, root: { container, asked: () => asked, end: () => void (hasEnded = true) } };
}
