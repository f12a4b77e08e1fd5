import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import { readBounded } from "../src/bounded-output.ts";

describe("readBounded", () => {
  it("keeps all of a stream that is short enough", async () => {
    expect(await read(["one ", "two"], 7)).toEqual({ text: "one two", truncated: false });
  });

  it("keeps the first bytes of one that is not, and says so", async () => {
    expect(await read(["one ", "two"], 5)).toEqual({ text: "one t", truncated: true });
  });

  it("reads an empty stream", async () => {
    expect(await read([], 5)).toEqual({ text: "", truncated: false });
  });

  it("reads on to the end, so that the writer never blocks", async () => {
    let written = 0;
    const endless = Readable.from(
      (function* () {
        for (; written < 1000; written++) yield Buffer.alloc(64 * 1024, "x");
      })(),
    );

    const { text, truncated } = await readBounded(endless, 10);

    expect({ text, truncated, written }).toEqual({ text: "xxxxxxxxxx", truncated: true, written: 1000 });
  });

  it("joins a character that came in two pieces", async () => {
    const bytes = Array.from(Buffer.from("€"), (byte) => Uint8Array.of(byte));

    expect(await read(["a", ...bytes, "b"], 100)).toEqual({ text: "a€b", truncated: false });
  });

  it("leaves out a character that the limit cuts in two", async () => {
    expect(await read(["ab€"], 4)).toEqual({ text: "ab", truncated: true });
  });

  it("replaces what is not UTF-8", async () => {
    expect(await read(["a", Uint8Array.of(0xff), "b", Uint8Array.of(0xe2, 0x82)], 100)).toEqual({
      text: "a\uFFFDb\uFFFD",
      truncated: false,
    });
  });
});

function read(chunks: readonly (string | Uint8Array)[], maxBytes: number) {
  return readBounded(Readable.from(chunks.map((chunk) => Buffer.from(chunk))), maxBytes);
}
