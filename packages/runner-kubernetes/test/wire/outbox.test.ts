import { expect, it } from "vitest";
import { createOutbox } from "../../src/wire/outbox.ts";

const NOTHING = Buffer.alloc(0);

it("frames that the other end never acknowledges end the wire at 4 MiB, however small they are", () => {
  const outbox = createOutbox();
  let added = 0;
  const add = (): void => {
    for (; added < 100_000; added += 1) outbox.add("reset", 1, NOTHING);
  };

  expect(add).toThrow("acknowledged nothing");
  expect(added * 256).toBeLessThan(4 * 1024 * 1024);
});

it("frames are sent again from the first that was not acknowledged, and have their numbers", () => {
  const outbox = createOutbox();
  for (const text of ["a", "b", "c"]) outbox.add("data", 1, Buffer.from(text));
  const send = () => outbox.next()?.subarray(8).toString("latin1");
  send();
  send();
  outbox.acknowledge(1);
  outbox.rewind();

  expect([send(), send(), send()]).toEqual(["\0\0\0\0\0\u0001b", "\0\0\0\0\0\u0002c", undefined]);
});

it.each([
  ["before what it had", 0],
  ["that were not sent", 3],
])("an acknowledgement of frames %s ends the wire", (_what, before) => {
  const outbox = createOutbox();
  for (const text of ["a", "b", "c"]) outbox.add("data", 1, Buffer.from(text));
  outbox.next();
  outbox.next();
  outbox.acknowledge(1);

  expect(() => outbox.acknowledge(before)).toThrow("out of order");
});
