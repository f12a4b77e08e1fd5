import { expect, it } from "vitest";
import { readIndex } from "../../src/git/read-index.ts";
import { buildIndex } from "../helpers/build-index.ts";

const INDEX = buildIndex(["a", "b/c.txt"]);

it("An index names its files", () => {
  expect([...(readIndex(INDEX, 20)?.files ?? [])]).toEqual(["a", "b/c.txt"]);
});

it("An index that is cut off at any byte is not read, and neither is one with other bytes", () => {
  for (let length = 0; length < INDEX.length; length++)
    expect(readIndex(INDEX.subarray(0, length), 20)).toBeUndefined();
  for (let at = 0; at < INDEX.length; at++) {
    const changed = Buffer.from(INDEX);
    changed[at] = 0xff;
    // Nothing is thrown, and a name may differ.
    readIndex(changed, 20);
  }
});

it("An index that claims more files than it has, or needs another file, is not read", () => {
  const many = Buffer.from(INDEX);
  many.writeUInt32BE(2 ** 32 - 1, 8);
  const split = Buffer.concat([INDEX.subarray(0, -20), Buffer.from("link\0\0\0\0", "latin1"), Buffer.alloc(20)]);

  expect(readIndex(many, 20)).toBeUndefined();
  expect(readIndex(split, 20)).toBeUndefined();
});

it("An index of version 4 cannot make long names of few bytes", () => {
  const entry = Buffer.alloc(62 + 1 + 200 + 1);
  entry.writeUInt32BE(0o100644, 24);
  entry.fill("a", 63, 263);
  const header = Buffer.from(INDEX.subarray(0, 12));
  header.writeUInt32BE(4, 4);
  header.writeUInt32BE(100, 8);
  const long = Buffer.concat([header, ...Array.from({ length: 100 }, () => entry), Buffer.alloc(20)]);

  expect(readIndex(long, 20)).toBeUndefined();
});
