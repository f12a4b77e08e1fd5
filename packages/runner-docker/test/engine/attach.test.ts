import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { attach } from "../../src/engine/attach.ts";
import type { EngineAddress } from "../../src/engine/find-endpoints.ts";

let server: Server | undefined;
afterEach(() => server?.close());

describe("attach", () => {
  it("reports a connection that breaks before its first read as closed", async () => {
    const upgraded: Socket[] = [];
    server = createServer().on("upgrade", (_request, socket: Socket) => {
      socket.write("HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n");
      upgraded.push(socket);
    });

    const socket = await attach(await listen(server), "container");
    upgraded[0]?.resetAndDestroy();
    await new Promise((resolve) => socket.once("close", resolve).resume());

    expect(socket.destroyed).toBe(true);
  });

  it.each([
    ["plain text", "No such container: 8c1f\n"],
    ["JSON", '{"message":"No such container: 8c1f"}'],
  ])("reports an engine's refusal in %s", async (_how, body) => {
    server = createServer((_request, response) => response.writeHead(404).end(body));

    const refusal = attach(await listen(server), "container");

    await expect(refusal).rejects.toMatchObject({
      statusCode: 404,
      message: expect.stringMatching(/: No such container: 8c1f$/),
    });
  });
});

async function listen(on: Server): Promise<EngineAddress> {
  on.listen(0, "127.0.0.1");
  await once(on, "listening");
  return { protocol: "http", host: "127.0.0.1", port: (on.address() as AddressInfo).port, tls: undefined };
}
