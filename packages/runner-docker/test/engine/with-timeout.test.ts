import { once } from "node:events";
import { PassThrough } from "node:stream";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { destroyWhenIdle } from "../../src/engine/with-timeout.ts";

const LIMIT_MS = 50;

it("destroys a silent stream with the error of a call that hangs", async () => {
  const source = new PassThrough();
  const stream = destroyWhenIdle(source, LIMIT_MS);
  source.write("begun");
  stream.pipe(new PassThrough()).resume();

  const [error] = (await once(stream, "error")) as [Error];

  expect(error.name).toBe("TimeoutError");
});

it("waits for a reader, and passes on all data", async () => {
  const source = new PassThrough();
  const stream = destroyWhenIdle(source, LIMIT_MS);
  source.end("begun and ended");
  await sleep(5 * LIMIT_MS);

  expect((await buffer(stream.pipe(new PassThrough()))).toString()).toBe("begun and ended");
});
