import type { IncomingMessage } from "node:http";
import { expect, it, vi } from "vitest";
import { createByteBudget } from "../../src/bounds/byte-budget.ts";
import { readBody } from "../../src/bounds/read-body.ts";

function toRequest(pieces: readonly Buffer[]): IncomingMessage {
  return {
    async *iterator() {
      yield* pieces;
    },
    resume: () => undefined,
  } as unknown as IncomingMessage;
}

it("a body in single bytes is kept in few pieces, and loses nothing", async () => {
  const sent = Array.from({ length: 20_000 }, (_, index) => Buffer.from([index % 251]));
  const join = vi.spyOn(Buffer, "concat");

  const body = await readBody(toRequest(sent), { bytes: 1e6, pending: createByteBudget(1e6) });

  const most = Math.max(...join.mock.calls.map(([pieces]) => pieces.length));
  join.mockRestore();
  expect(most).toBeLessThan(100);
  expect(body).toEqual(Buffer.concat(sent));
});

it("a body beyond a bound is named by it, and gives back what it took", async () => {
  const pending = createByteBudget(10);
  const piece = Buffer.alloc(4);

  expect(await readBody(toRequest([piece, piece]), { bytes: 7, pending })).toBe("bytes");
  expect(await readBody(toRequest([piece, piece, piece]), { bytes: 100, pending })).toBe("pending");
  expect(pending.tryTake(10)).toBe(true);
});
