import { Duplex, PassThrough, Readable } from "node:stream";
import { expect, it } from "vitest";
import { createHoldLink } from "../../src/hold/hold-link.ts";
import { readHoldFrames, toStart } from "../../src/hold/hold-frame.ts";
import { parseOrder } from "../../src/hold/parse-order.ts";
import { toMessage } from "../helpers/fake-hold.ts";

const HELLO = toMessage("H", [0, 1, 2]);
const ORDER = {
  argv: ["agent"],
  env: {},
  unset: [],
  directory: "/",
  isReadOnly: false,
  limits: { pids: 1, diskBytes: 1 },
} as const;

it("messages come back in pieces of any size", async () => {
  const bytes = Buffer.concat([HELLO, toMessage("P", []), toMessage("O", Buffer.from("output"))]);
  const kinds: string[] = [];
  for await (const { kind, payload } of readHoldFrames(Readable.from([...bytes].map((byte) => Buffer.of(byte)))))
    kinds.push(`${kind}${payload.length}`);

  expect(kinds).toEqual(["H12", "P0", "O6"]);
});

it.each([
  ["of an unknown kind", toMessage("X", [])],
  ["that is cut off", HELLO.subarray(0, -1)],
  ["of 4 GiB", Buffer.from([0x4f, 0, 0, 0, 255, 255, 255, 255])],
  ["with bytes where none are", Buffer.from([0x50, 1, 0, 0, 0, 0, 0, 0])],
  ["whose number is too long", toMessage("U", [1, 2])],
])("a message %s is refused", async (_what, bytes) => {
  const read = async (): Promise<void> => {
    for await (const _frame of readHoldFrames(Readable.from([bytes])));
  };
  await expect(read()).rejects.toMatchObject({ code: "SESSION_UNUSABLE" });
});

it.each([
  ["output before it runs", [toMessage("O", Buffer.of(1))]],
  ["two beginnings", [toMessage("P", []), toMessage("P", [])]],
  ["credit for what it did not get", [toMessage("P", []), toMessage("U", [1])]],
  ["a second hello", [HELLO]],
  ["an end that is none", [toMessage("E", [-1, 0, 0])]],
  ["an end of two kinds", [toMessage("E", [1, 9, 0])]],
])("a hold that sends %s fails its process", async (_what, said) => {
  const fromHold = new PassThrough();
  const link = createHoldLink(Duplex.from({ readable: fromHold, writable: new PassThrough().resume() }));
  fromHold.write(HELLO);
  await link.hello;
  const stdout = new PassThrough();
  const streams = { stdin: Readable.from([]), stdout, openStderr: () => new PassThrough() };
  const run = link.start({ ...ORDER, ports: undefined }, streams);
  for (const bytes of said) fromHold.write(bytes);

  await expect(run.ended).rejects.toMatchObject({ code: "SESSION_UNUSABLE" });
  expect(link.isOpen()).toBe(false);
});

it("an order without ports has no jail around its network", () => {
  expect(toStart(parseOrder(Buffer.from(JSON.stringify(ORDER)))).readUInt32LE(8 + 12)).toBe(0xff_ff_ff_ff);
});

it.each([
  { argv: [] },
  { argv: [""] },
  { argv: ["a\0b"] },
  { env: { "A=B": "" } },
  { env: { "": "" } },
  { env: { A: 1 } },
  { unset: "A" },
  { directory: "relative" },
  { ports: [65_536] },
  { ports: ["1"] },
  { limits: { pids: 0, diskBytes: 1 } },
  { limits: null },
  { isReadOnly: 1 },
])("an order with %j is refused without its content", (change) => {
  const bytes = Buffer.from(JSON.stringify({ ...ORDER, env: { TOKEN: "secret" }, ...change }));
  expect(() => parseOrder(bytes)).toThrow(expect.objectContaining({ code: "INPUT_INVALID" }));
  expect(() => parseOrder(bytes)).not.toThrow(/secret/);
});

it("a start beyond 2 MiB is refused", () => {
  expect(() => toStart({ ...ORDER, argv: ["x".repeat(2 ** 21)], ports: undefined })).toThrow(/2 MiB/);
});
