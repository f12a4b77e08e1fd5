import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { expect, it } from "vitest";
import { toUnpackable } from "../../src/records/to-unpackable.ts";

type Made = { readonly mode?: number; readonly path?: string; readonly target?: string; readonly content?: string };

/** Makes a record as the copier prints it. */
function toRecord(kind: string, { content = "", mode = 0, path = "", target = "" }: Made = {}): Buffer {
  const header = Buffer.alloc(32);
  header.write(kind, 0, "latin1");
  header.writeUInt32LE(mode, 4);
  header.writeUInt32LE(path.length, 8);
  header.writeUInt32LE(target.length, 12);
  header.writeBigUInt64LE(BigInt(content.length), 16);
  return Buffer.concat([header, Buffer.from(path + target + content, "latin1")]);
}

async function convert(packed: readonly Buffer[], pieceBytes = 7): Promise<Buffer> {
  const bytes = Buffer.concat(packed);
  async function* pieces(): AsyncGenerator<Buffer> {
    for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
  }
  return buffer(Readable.from(toUnpackable(pieces()), { objectMode: false }));
}

it("folders that were closed are open while they are filled, and closed last, the deepest first", async () => {
  const file = toRecord("f", { path: "a/b/\xff", mode: 0o4000, content: "content" });
  const link = toRecord("l", { path: "a/link", target: "/etc" });
  const open = toRecord("d", { path: "open", mode: 0o2755 });
  const packed = [
    toRecord("d", { path: "a", mode: 0o2055 }),
    toRecord("d", { path: "a/b", mode: 0o555 }),
    file,
    link,
    open,
    toRecord("e"),
  ];

  expect(await convert(packed)).toEqual(
    Buffer.concat([
      toRecord("d", { path: "a", mode: 0o2755 }),
      toRecord("d", { path: "a/b", mode: 0o755 }),
      file,
      link,
      open,
      toRecord("m", { path: "a/b", mode: 0o555 }),
      toRecord("m", { path: "a", mode: 0o2055 }),
      toRecord("e"),
    ]),
  );
});

it("pipes and sockets are left out", async () => {
  const packed = [toRecord("o", { path: "pipe", mode: 0o644 }), toRecord("e")];

  expect(await convert(packed)).toEqual(toRecord("e"));
});

it("folders beyond the room for their modes stay open", async () => {
  const path = "a".repeat(30_000);
  const packed = Array.from({ length: 150 }, () => toRecord("d", { path, mode: 0o500 }));
  const converted = await convert([...packed, toRecord("e")], 65_536);

  const closed = converted.length - 151 * 32 - 150 * path.length;
  expect(closed).toBe(139 * (32 + path.length));
});

it.each([
  ["a record of another kind", [toRecord("x", { path: "a" })], "SESSION_UNUSABLE"],
  ["a mode, which nobody packs", [toRecord("m", { path: "a" })], "SESSION_UNUSABLE"],
  ["a path of any length", [toRecord("d", { path: "a".repeat(40_001) })], "SESSION_UNUSABLE"],
  ["an early end", [toRecord("f", { path: "a", content: "content" }).subarray(0, -1)], "RUNNER_UNAVAILABLE"],
  ["no end", [toRecord("d", { path: "a" })], "RUNNER_UNAVAILABLE"],
])("%s is refused", async (_what, packed, code) => {
  await expect(convert(packed)).rejects.toMatchObject({ code });
});
