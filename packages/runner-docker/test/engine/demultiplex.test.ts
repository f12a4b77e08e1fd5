import { PassThrough, Readable } from "node:stream";
import { buffer, text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { demultiplex } from "../../src/engine/demultiplex.ts";

const never = new AbortController().signal;

function frame(stream: 1 | 2, payload: string | Buffer): Buffer {
  const header = Buffer.alloc(8);
  const body = Buffer.from(payload);
  header.writeUInt8(stream, 0);
  header.writeUInt32BE(body.length, 4);
  return Buffer.concat([header, body]);
}

function open(dropping = never) {
  const source = new PassThrough({ highWaterMark: 2 ** 24 });
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  return { source, stdout, stderr, closed: demultiplex(source, { stdout, stderr, dropping }) };
}

describe("demultiplex", () => {
  it("separates the streams byte by byte", async () => {
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, index) => index));
    const { source, stderr, stdout } = open();
    source.end(Buffer.concat([frame(1, "a"), frame(2, bytes), frame(1, ""), frame(1, "ü")]));

    expect(await Promise.all([text(stdout), buffer(stderr)])).toEqual(["aü", bytes]);
  });

  it.each([1, 2, 3, 7, 8, 9, 1000])("parses frames in pieces of %i bytes", async (size) => {
    const all = Buffer.concat([frame(1, "hello "), frame(2, "x".repeat(300)), frame(1, "wörld")]);
    const pieces = Array.from({ length: Math.ceil(all.length / size) }, (_, index) =>
      all.subarray(index * size, (index + 1) * size),
    );
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const closed = demultiplex(Readable.from(pieces), { stdout, stderr, dropping: never });

    expect(await Promise.all([text(stdout), text(stderr)])).toEqual(["hello wörld", "x".repeat(300)]);
    await closed;
  });

  it("parses 100 000 tiny frames in one chunk, on which docker-modem overflows the stack", async () => {
    const { source, stderr, stdout } = open();
    source.end(Buffer.concat(Array.from({ length: 100_000 }, (_, index) => frame(index % 2 === 0 ? 1 : 2, "x"))));

    const [out, err] = await Promise.all([text(stdout), text(stderr)]);
    expect([out.length, err.length]).toEqual([50_000, 50_000]);
  });

  it("stops reading while its output is not read", async () => {
    let taken = 0;
    const source = Readable.from(
      (function* () {
        for (; taken < 1000; taken++) yield frame(1, Buffer.alloc(64 * 1024));
      })(),
      { highWaterMark: 1 },
    );
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    void demultiplex(source, { stdout, stderr, dropping: never });
    await sleep(50);
    const held = taken;

    expect(held).toBeLessThan(10);
    stderr.resume();
    expect((await buffer(stdout)).length).toBe(1000 * 64 * 1024);
  });

  it("drops unread output once aborted, and passes on what is read", async () => {
    const dropping = new AbortController();
    const { closed, source, stderr, stdout } = open(dropping.signal);
    const reading = text(stderr);
    for (let count = 0; count < 100; count++) source.write(frame(1, Buffer.alloc(64 * 1024)));
    await sleep(20);

    dropping.abort();
    source.end(frame(2, "last words"));
    await closed;

    expect(await reading).toBe("last words");
    expect(stdout.readableLength + stdout.writableLength).toBeLessThan(10 * 64 * 1024);
  });

  it("continues one stream after the other's reader closed", async () => {
    const { closed, source, stderr, stdout } = open();
    const reading = text(stderr);
    source.write(frame(1, Buffer.alloc(1024 * 1024)));
    await sleep(20);
    stdout.destroy();
    source.end(Buffer.concat([frame(1, Buffer.alloc(1024 * 1024)), frame(2, "still here")]));
    await closed;

    expect(await reading).toBe("still here");
  });

  it("ends both streams when the connection breaks, after the data before that", async () => {
    const { closed, source, stderr, stdout } = open();
    const reading = Promise.all([text(stdout), text(stderr)]);
    source.write(Buffer.concat([frame(1, "before"), frame(2, "cut off").subarray(0, 10)]));
    await sleep(10);
    source.destroy(new Error("ECONNRESET"));
    await closed;

    expect(await reading).toEqual(["before", ""]);
  });
});
