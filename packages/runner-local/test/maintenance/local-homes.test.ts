import { truncateSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { createSessionId } from "@budgie/core";
import { createLocalHomes } from "@budgie/runner-local";
import { createLocalPlace } from "../helpers/local-place.ts";

const SIZE = 8_000_000;

it.each([
  ["refuses to export a file that becomes shorter meanwhile, and says so", 0, "SESSION_UNUSABLE"],
  ["exports one that stays as it is", SIZE, undefined],
])("%s", async (_what, size, code) => {
  await using place = createLocalPlace();
  const { owner, runner } = place.createRunner();
  const { id } = await runner.openSession(createSessionId());
  const file = join(place.sessionsDir, id, "log");
  writeFileSync(file, Buffer.alloc(SIZE));
  const to = new PassThrough();
  const packing = createLocalHomes({ owner, stateDir: place.stateDir }).pack(id, to, {
    signal: new AbortController().signal,
  });
  const outcome = packing.then(
    () => undefined,
    (error: unknown) => error,
  );
  // The archive applies backpressure; more bytes than headers mean that the file is being read.
  while (to.readableLength < 4096) await sleep(1);

  truncateSync(file, size);
  to.on("error", () => undefined).resume();

  expect((await outcome) as { code?: string } | undefined).toEqual(
    code === undefined ? undefined : expect.objectContaining({ code, message: expect.stringContaining(`"${id}"`) }),
  );
});

it("rejects with the error of its destination", async () => {
  await using place = createLocalPlace();
  const { owner, runner } = place.createRunner();
  const { id } = await runner.openSession(createSessionId());
  writeFileSync(join(place.sessionsDir, id, "log"), Buffer.alloc(SIZE));
  const to = new PassThrough();
  const full = Object.assign(new Error("no room"), { code: "ENOSPC" });
  const packing = createLocalHomes({ owner, stateDir: place.stateDir }).pack(id, to, {
    signal: new AbortController().signal,
  });
  const outcome = packing.catch((error: unknown) => error);
  while (to.readableLength === 0) await sleep(1);

  to.destroy(full);

  expect(await outcome).toBe(full);
});
