import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { attach } from "../src/attach.ts";

let server: Server | undefined;
afterEach(() => server?.close());

describe("attach", () => {
  it("leaves a connection that breaks before it is read to be seen as closed", async () => {
    const upgraded: Socket[] = [];
    server = createServer().on("upgrade", (_request, socket: Socket) => {
      socket.write("HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n");
      upgraded.push(socket);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;

    const socket = await attach({ protocol: "http", host: "127.0.0.1", port, tls: undefined }, "container");
    upgraded[0]?.resetAndDestroy();
    await new Promise((resolve) => socket.once("close", resolve).resume());

    expect(socket.destroyed).toBe(true);
  });
});
