import { Readable } from "node:stream";
import { expect, it } from "vitest";
import { followBuild } from "../../src/image/follow-build.ts";

async function follow(...events: readonly (object | string)[]) {
  const told: string[] = [];
  const text = events.map((event) => (typeof event === "string" ? event : `${JSON.stringify(event)}\r\n`)).join("");
  // In small chunks, as an engine may send them.
  const chunks = text.match(/[^]{1,1000}/g)?.map((chunk) => Buffer.from(chunk)) ?? [];
  const failure = await followBuild(Readable.from(chunks), (line) => told.push(line));
  return { told, failure };
}

it("a build is told line by line, whatever parts its events have, and its error is returned", async () => {
  const { failure, told } = await follow(
    { status: "Pulling" },
    { stream: "Step 1\nfetch" },
    { stream: "ing \n\n" },
    "\n",
    { error: "exit code 7", errorDetail: { code: 7 } },
  );

  expect(told).toEqual(["Pulling", "Step 1", "fetching"]);
  expect(failure).toBe("exit code 7");
});

it("a line that never ends is told in parts, so that none is kept whole", async () => {
  const { told } = await follow(...Array.from({ length: 2000 }, () => ({ stream: ".".repeat(100) })));

  expect(told.join("")).toBe(".".repeat(200_000));
  expect(Math.max(...told.map((line) => line.length))).toBeLessThanOrEqual(4200);
});

it("an event of more than 1 MiB, and one that is not JSON, end it", async () => {
  await expect(follow({ stream: "x".repeat(2 ** 20) })).rejects.toThrow("more than 1048576 bytes");
  await expect(follow("no JSON\n")).rejects.toThrow(SyntaxError);
});
