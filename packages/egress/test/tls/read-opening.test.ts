import { once } from "node:events";
import type { Socket } from "node:net";
import { PassThrough } from "node:stream";
import { expect, it, vi } from "vitest";
import { checkHelloRetry } from "../../src/tls/read-opening.ts";

it("what a client sends while its server is silent is kept in few pieces, and put back", async () => {
  const client = new PassThrough();
  const server = new PassThrough();
  const sent = Array.from({ length: 20_000 }, (_, index) => Buffer.from([index % 251]));
  const join = vi.spyOn(Buffer, "concat");

  const checking = checkHelloRetry(
    { client: client as unknown as Socket, server: server as unknown as Socket, host: "a.example" },
    { timeoutMs: 10_000 },
  );
  for (const byte of sent) if (!client.write(byte)) await once(client, "drain");
  // Its server ends without an answer.
  server.end();

  expect(await checking).toBe("unanswered");
  const most = Math.max(...join.mock.calls.map(([pieces]) => pieces.length));
  join.mockRestore();
  expect(most).toBeLessThan(100);
  expect(client.read()).toEqual(Buffer.concat(sent));
});
