import { describe, expect, it } from "vitest";
import { BudgieError } from "@budgie/core";
import { KINDS } from "../../src/wire/frame.ts";
import { parseAgentEnd } from "../../src/wire/agent-end.ts";
import { MOST_STREAMS } from "../../src/wire/wire.ts";
import { WINDOW_BYTES } from "../../src/wire/wire-stream.ts";
import { connectPair } from "../helpers/connect-pair.ts";
import { createRandom } from "../helpers/create-random.ts";
import { createHostilePeer, EGRESS, HELLO, toBytes } from "../helpers/hostile-peer.ts";

// Many small runs take long on a busy machine.
const LONG = { timeout: 180_000 };

const u32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
const header = (length: number, kind: number): Buffer => {
  const bytes = Buffer.alloc(14);
  bytes.writeUIntBE(length, 0, 3);
  bytes.writeUInt8(kind, 3);
  return bytes;
};
const open = toBytes("open", { payload: EGRESS });
const data = (sequence: number, length: number): Buffer => toBytes("data", { sequence, payload: Buffer.alloc(length) });

describe("a Pod that breaks the rules", () => {
  it.each([
    ["a frame before its hello", [open], "hello"],
    ["a second hello", [HELLO, HELLO], "hello"],
    ["another version", [Buffer.concat([HELLO.subarray(0, 14), Buffer.of(9), HELLO.subarray(15)])], "another version"],
    [
      "a hello that resumes from what nobody sent",
      [Buffer.concat([HELLO.subarray(0, 13), Buffer.of(5), HELLO.subarray(14)])],
      "out of order",
    ],
    ["an ack of what nobody sent", [HELLO, toBytes("ack", { sequence: 1 })], "out of order"],
    ["a kind that is none", [HELLO, header(0, 99)], "no known kind"],
    ["a payload of 16 MiB", [HELLO, header(2 ** 24 - 1, KINDS.data.byte)], "of 16777215 bytes"],
    ["a byte of data too many", [HELLO, header(65_537, KINDS.data.byte)], "of 65537 bytes"],
    ["no data", [HELLO, header(0, KINDS.data.byte)], '"data" of 0 bytes'],
    ["a frame twice", [HELLO, open, open], "out of order"],
    ["a frame too early", [HELLO, toBytes("open", { sequence: 1, payload: EGRESS })], "out of order"],
    ["a stream with budgie's number", [HELLO, toBytes("open", { stream: 1, payload: EGRESS })], "out of order"],
    ["a stream that skips a number", [HELLO, toBytes("open", { stream: 4, payload: EGRESS })], "out of order"],
    ["a stream for a turn", [HELLO, toBytes("open", { payload: Buffer.from('{"purpose":"turn"}') })], "not its own"],
    ["a header that is a list", [HELLO, toBytes("open", { payload: Buffer.from("[1]") })], "no object"],
    ["a header that is not JSON", [HELLO, toBytes("open", { payload: Buffer.from("{{") })], "not JSON within bounds"],
    [
      "a header of many values",
      [HELLO, toBytes("open", { payload: Buffer.from(`[${"0,".repeat(8_000)}0]`) })],
      "not JSON within bounds",
    ],
    ["data of a stream that nobody opened", [HELLO, toBytes("data", { payload: Buffer.of(1) })], "no open stream"],
    ["the end of a stream that nobody opened", [HELLO, toBytes("end")], "no open stream"],
    ["a credit of a stream that nobody opened", [HELLO, toBytes("credit", { payload: u32(1) })], "no open stream"],
    ["data after the end", [HELLO, open, toBytes("end", { sequence: 1 }), data(2, 1)], "after the end"],
    [
      "a last value that is none",
      [HELLO, open, toBytes("end", { sequence: 1, payload: Buffer.from("1") })],
      "no object",
    ],
    ["credit that nobody used", [HELLO, open, toBytes("credit", { sequence: 1, payload: u32(1) })], "widened"],
    ["no credit", [HELLO, open, toBytes("credit", { sequence: 1, payload: u32(0) })], "widened"],
    [
      "a byte more than its window",
      [HELLO, open, ...Array.from({ length: 16 }, (_, index) => data(index + 1, 65_536))],
      "window",
    ],
  ])("is hung up on after %s", async (_what, frames, fault) => {
    const { say, wire } = createHostilePeer();
    for (const frame of frames) say(frame);

    const reason = await wire.ended;
    expect(reason).toMatchObject({ code: "SESSION_UNUSABLE" });
    expect(reason?.message).toContain(fault);
  });

  it("ends its wire with more streams than one end may have", async () => {
    const { opened, say, wire } = createHostilePeer();
    say(HELLO);
    for (let index = 0; index <= MOST_STREAMS; index += 1) {
      say(toBytes("open", { stream: 2 + 2 * index, sequence: index, payload: EGRESS }));
    }

    expect((await wire.ended)?.message).toContain("more than 64 streams");
    expect(opened).toHaveLength(MOST_STREAMS);
    expect(opened.every(({ input }) => input.destroyed)).toBe(true);
  });
});

it("many frames that come at once leave the event loop its turns", async () => {
  const { opened, say } = createHostilePeer();
  const frames = Array.from({ length: 100 }, (_, index) => [
    toBytes("open", { stream: 2 + 2 * index, sequence: 2 * index, payload: EGRESS }),
    toBytes("reset", { stream: 2 + 2 * index, sequence: 2 * index + 1 }),
  ]);
  say(Buffer.concat([HELLO, ...frames.flat()]));
  say(toBytes("open", { stream: 202, sequence: 200, payload: EGRESS }));

  expect(opened).toHaveLength(50);
  await expect.poll(() => opened.length).toBe(101);
});

it("frames that came with one that made another connection take over are dropped", async () => {
  const { opened, say, wire } = createHostilePeer((stream) => {
    wire.attach(connectPair().budgie);
    stream.input.resume();
  });
  const second = toBytes("open", { stream: 4, sequence: 1, payload: EGRESS });
  say(Buffer.concat([HELLO, open, second]));

  expect(opened).toHaveLength(1);
  wire.close();
  expect(await wire.ended).toBeUndefined();
});

it("one frame is kept in memory of its own size, however small its part of what came with it", () => {
  const { opened, say } = createHostilePeer();
  say(HELLO);
  say(open);
  say(Buffer.concat([data(1, 3), ...Array.from({ length: 4_000 }, () => toBytes("ack"))]));
  const piece = opened[0]?.input.read() as Buffer;

  expect(piece).toHaveLength(3);
  expect(piece.buffer.byteLength).toBe(3);
});

it("2,000 random sequences of frames end the wire with one error, or leave it within its bounds", LONG, async () => {
  const ends = new Map<string, number>();
  for (let seed = 0; seed < 2_000; seed += 1) {
    const peer = createHostilePeer();
    let ended: BudgieError | undefined;
    void peer.wire.ended.then((reason) => (ended = reason));
    sayAnything(peer.say, createRandom(seed));
    await Promise.resolve();

    const unread = peer.opened.reduce((sum, { input }) => sum + input.readableLength, 0);
    expect(unread).toBeLessThanOrEqual(MOST_STREAMS * WINDOW_BYTES);
    if (ended !== undefined) expect(ended).toBeInstanceOf(BudgieError);
    else peer.wire.close();
    const end = ended?.message ?? "alive";
    ends.set(end, (ends.get(end) ?? 0) + 1);
  }

  // The generator reaches both ends, and many rules.
  expect(ends.get("alive")).toBeGreaterThan(50);
  expect(ends.size).toBeGreaterThan(12);
});

/** Says up to 40 frames, most of which keep the rules. */
function sayAnything(say: (bytes: Buffer) => void, random: (below: number) => number): void {
  const isOdd = (of: number): boolean => random(of) === 0;
  let sequence = 0;
  let opened = 0;
  if (!isOdd(20)) say(HELLO);
  for (let left = random(40); left > 0; left -= 1) {
    const kind = (isOdd(6) ? KINDS_OF_WIRE : KINDS_OF_STREAM)[random(3 + 2)] ?? "open";
    if (kind === "open") opened += 1;
    const stream = kind === "open" ? opened : 1 + random(opened);
    const bytes = toBytes(kind, {
      stream: isOdd(30) ? random(2 ** 32) : 2 * stream,
      sequence: isOdd(40) ? random(2 ** 32) : sequence,
      payload: toPayload(kind, random),
    });
    sequence += 1;
    if (isOdd(30)) bytes[random(bytes.length)] = random(256);
    const cut = random(bytes.length);
    say(bytes.subarray(0, cut));
    say(bytes.subarray(cut));
  }
}

const KINDS_OF_STREAM = ["open", "data", "credit", "end", "reset"] as const;
const KINDS_OF_WIRE = ["hello", "ack", "close"] as const;

function toPayload(kind: keyof typeof KINDS, random: (below: number) => number): Buffer {
  if (kind === "open") return random(20) === 0 ? Buffer.from('{"purpose":"x"}') : EGRESS;
  if (kind === "credit") return u32(random(3));
  if (kind === "end") return random(3) === 0 ? Buffer.from(random(5) === 0 ? "[" : "{}") : Buffer.alloc(0);
  if (kind === "data") return Buffer.alloc(1 + random(random(2) === 0 ? 100 : 65_536));
  return Buffer.alloc(KINDS[kind].least, random(256));
}

it.each([
  [{}],
  [{ exitCode: 256, signal: null, oomKills: 0 }],
  [{ exitCode: null, signal: null, oomKills: 0 }],
  [{ exitCode: 0, signal: "SIGKILL", oomKills: 0 }],
  [{ exitCode: null, signal: "toString", oomKills: 0 }],
  [{ exitCode: 0, signal: null, oomKills: -1 }],
  [{ exitCode: "0", signal: null, oomKills: 0 }],
])("the last value %j is no end of a turn", (value) => {
  expect(() => parseAgentEnd(value)).toThrow("ended a turn without saying how");
});

it("the end of a turn has an exit code or a signal", () => {
  expect(parseAgentEnd({ exitCode: 7, signal: null, oomKills: 0 })).toEqual({
    exitCode: 7,
    signal: undefined,
    oomKills: 0,
  });
  expect(parseAgentEnd({ exitCode: null, signal: "SIGKILL", oomKills: 2 })).toMatchObject({
    signal: "SIGKILL",
    oomKills: 2,
  });
});
