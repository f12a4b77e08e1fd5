import { expect, it } from "vitest";
import { Readable } from "node:stream";
import { createHash } from "node:crypto";
import { receiveFile } from "../../src/wire/receive-file.ts";
import type { WireStream } from "../../src/wire/wire-stream.ts";

const CONTENT = Buffer.from("content");
const sha256 = createHash("sha256").update(CONTENT).digest("hex");

async function receive(last: Readonly<Record<string, unknown>>, mostBytes = 100): Promise<string> {
  const stream = { input: Readable.from([CONTENT]), last: Promise.resolve(last) } as unknown as WireStream;
  let all = "";
  for await (const piece of receiveFile(stream, mostBytes)) all += piece.toString();
  return all;
}

it("a file is whole if its length and digest follow it", async () => {
  expect(await receive({ bytes: 7, sha256 })).toBe("content");
});

it.each([
  ["no last value", {}],
  ["another length", { bytes: 6, sha256 }],
  ["another digest", { bytes: 7, sha256: "0".repeat(64) }],
])("a file with %s is not taken", async (_what, last) => {
  await expect(receive(last)).rejects.toMatchObject({ code: "RUNNER_UNAVAILABLE" });
});

it("a file above its limit is not read to its end", async () => {
  await expect(receive({ bytes: 7, sha256 }, 6)).rejects.toMatchObject({ code: "DISK_LIMIT" });
});
