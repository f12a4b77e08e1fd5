import { describe, expect, it } from "vitest";
import { createOrigin, createProxyPlace, exchange, toPolicy } from "../helpers/proxy-place.ts";

/** Returns what a client receives if the server sends this answer. */
async function ask(answer: string): Promise<string> {
  const origin = await createOrigin((socket) => void socket.once("data", () => socket.write(answer)));
  const host = `allowed.test:${origin.port}`;
  const place = await createProxyPlace(toPolicy("allowlist", `${host}=127.0.0.1`));
  try {
    return await exchange(place.socketPath, `GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  } finally {
    await place.close();
    await origin.close();
  }
}

describe("an answer in plain HTTP", () => {
  it.each(["000", "099", "101", "102x"])("is a failure of that request alone if its status is %s", async (status) => {
    expect(await ask(`HTTP/1.1 ${status} Odd\r\nContent-Length: 0\r\n\r\n`)).toMatch(/^HTTP\/1\.1 502 /);
  });

  it("is a failure if it switches to a protocol that was not requested", async () => {
    const answer = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: odd\r\n\r\nodd";

    expect(await ask(answer)).toMatch(/^HTTP\/1\.1 502 /);
  });

  it("may have any other status", async () => {
    for (const status of ["200", "304", "999"]) {
      expect(await ask(`HTTP/1.1 ${status} Fine\r\nContent-Length: 0\r\n\r\n`)).toMatch(`HTTP/1.1 ${status} `);
    }
  });
});
