import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, describe, expect, it } from "vitest";
import { createOutputFiles } from "@budgie/core/protocol";
import { readBounded } from "../../src/protocol/bounded-output.ts";

const stateDir = mkdtempSync(join(tmpdir(), "budgie-output-"));
afterAll(() => rmSync(stateDir, { recursive: true }));

describe("readBounded", () => {
  it("keeps a short stream whole", async () => {
    expect(await read(["one ", "two"], 4)).toEqual({ text: "one two", bytes: 7, truncated: false, file: undefined });
  });

  it("keeps the beginning and the end of a longer one, and counts the omitted bytes", async () => {
    expect(await read(["one ", "two ", "three ", "four"], 4)).toMatchObject({
      text: "one \n[budgie: 10 bytes are left out here]\nfour",
      bytes: 18,
      truncated: true,
    });
  });

  it("keeps the same for any chunks", async () => {
    const whole = "0123456789abcdefghijklmnopqrstuvwxyz";
    const [inOne, ...others] = await Promise.all(
      [36, 12, 7, 1].map((size) => read(whole.match(new RegExp(`.{1,${size}}`, "g")) ?? [], 5)),
    );

    expect(inOne?.text).toBe("01234\n[budgie: 26 bytes are left out here]\nvwxyz");
    for (const other of others) expect(other).toEqual(inOne);
  });

  it("reads an empty stream", async () => {
    expect(await read([], 5)).toEqual({ text: "", bytes: 0, truncated: false, file: undefined });
  });

  it("reads to the end, so that the writer never blocks", async () => {
    let written = 0;
    const endless = Readable.from(
      (function* () {
        for (; written < 1000; written++) yield Buffer.alloc(64 * 1024, "x");
      })(),
    );

    const { bytes, truncated } = await readBounded(endless, { heldBytes: 10 });

    expect({ bytes, truncated, written }).toEqual({ bytes: 65_536_000, truncated: true, written: 1000 });
  });

  it("joins a character that came in two chunks", async () => {
    const bytes = Array.from(Buffer.from("€"), (byte) => Uint8Array.of(byte));

    expect(await read(["a", ...bytes, "b"], 100)).toMatchObject({ text: "a€b", truncated: false });
    expect(await read(["a", ...bytes, "b"], 3)).toMatchObject({ text: "a€b", truncated: false });
  });

  it("leaves out characters that the truncation splits, on both sides", async () => {
    expect(await read(["ab€", "......", "€yz"], 4)).toMatchObject({
      text: "ab\n[budgie: 8 bytes are left out here]\nyz",
      truncated: true,
    });
  });

  it("replaces invalid UTF-8", async () => {
    expect(await read(["a", Uint8Array.of(0xff), "b", Uint8Array.of(0xe2, 0x82)], 100)).toMatchObject({
      text: "a\uFFFDb\uFFFD",
      truncated: false,
    });
  });

  it("writes the whole of a longer output to a file", async () => {
    const pieces = Array.from({ length: 500 }, (_, number) => `piece ${number}, `);
    const files = createOutputFiles({ stateDir });

    const { file, truncated } = await readBounded(Readable.from(pieces.map((piece) => Buffer.from(piece))), {
      heldBytes: 100,
      files,
    });

    expect(truncated).toBe(true);
    expect(readFileSync(file ?? "", "utf8")).toBe(pieces.join(""));
  });

  it("writes no file for a short output", async () => {
    const files = createOutputFiles({ stateDir });
    const { file } = await readBounded(Readable.from([Buffer.alloc(200)]), { heldBytes: 100, files });

    expect(file).toBeUndefined();
  });
});

function read(chunks: readonly (string | Uint8Array)[], heldBytes: number) {
  return readBounded(Readable.from(chunks.map((chunk) => Buffer.from(chunk))), { heldBytes });
}
