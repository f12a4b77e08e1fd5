import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import type { FilledEntry } from "@budgie/core/copies";
import { fromRecords } from "../../src/records/from-records.ts";
import { toRecords } from "../../src/records/to-records.ts";

async function* list(entries: readonly FilledEntry[]) {
  yield* entries;
}

async function pack(entries: readonly FilledEntry[]): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of toRecords(list(entries))) pieces.push(piece);
  return Buffer.concat(pieces);
}

async function readAll(records: Buffer, bounds?: Parameters<typeof fromRecords>[1]): Promise<readonly string[]> {
  const paths: string[] = [];
  for await (const { entry } of fromRecords(Readable.from([records]), bounds)) paths.push(entry.path);
  return paths;
}

const FILE = { entry: { path: "a", kind: "file", mode: 0o600, size: 3 }, content: Buffer.from("abc") } as const;
const NEXT = { entry: { path: "b", kind: "folder", mode: 0o755 } } as const;

it("records come back in pieces of any size, also if a content is read in part or not at all", async () => {
  const records = await pack([FILE, { ...FILE, entry: { ...FILE.entry, path: "c" } }, NEXT]);
  const bytes = Readable.from([...records].map((byte) => Buffer.from([byte])));
  const found: string[] = [];

  for await (const { content, entry } of fromRecords(bytes)) {
    found.push(entry.path + (entry.path === "a" && content !== undefined ? await text(content) : ""));
    if (entry.path === "c") content?.destroy();
  }

  expect(found).toEqual(["aabc", "c", "b"]);
});

const record = (kind: string, changes: (header: Buffer) => void = () => undefined): Buffer => {
  const header = Buffer.alloc(33);
  header.write(kind);
  header.writeUInt32LE(1, 8);
  header.write("p", 32);
  changes(header);
  return header;
};

it.each([
  ["that are cut off", (whole: Buffer) => whole.subarray(0, -1), "RUNNER_UNAVAILABLE"],
  ["without an end", (whole: Buffer) => whole.subarray(0, -32), "RUNNER_UNAVAILABLE"],
  ["of an unknown kind", () => record("x"), "SESSION_UNUSABLE"],
  ["with a path of 4 GiB", () => record("d", (header) => header.writeUInt32LE(2 ** 32 - 1, 8)), "SESSION_UNUSABLE"],
  ["without a path", () => record("d", (header) => header.writeUInt32LE(0, 8)), "SESSION_UNUSABLE"],
  ["with a target of 4 GiB", () => record("l", (header) => header.writeUInt32LE(2 ** 32 - 1, 12)), "SESSION_UNUSABLE"],
  [
    "of a file of 16 EiB",
    () => record("f", (header) => header.writeBigUInt64LE(2n ** 64n - 1n, 16)),
    "SESSION_UNUSABLE",
  ],
])("refuses records %s", async (_what, change, code) => {
  await expect(readAll(change(await pack([FILE, NEXT])))).rejects.toMatchObject({ code });
});

it.each([
  ["entries", { entries: 1, bytes: 100 }],
  ["bytes", { entries: 10, bytes: 2 }],
])("records of too many %s are refused", async (_what, bounds) => {
  await expect(readAll(await pack([FILE, NEXT]), bounds)).rejects.toMatchObject({
    code: "SESSION_UNUSABLE",
    message: expect.stringContaining("more than budgie reads"),
  });
});

it.each([
  [2, "abc"],
  [4, "abc"],
])("a file of %i bytes with the content %j is not sent as a whole", async (size, content) => {
  const entry = { ...FILE.entry, size };
  await expect(pack([{ entry, content: Buffer.from(content) }])).rejects.toThrow("another size");
});
