import { once } from "node:events";
import type { Socket } from "node:net";
import { setImmediate as nextTask } from "node:timers/promises";
import type { EgressReport } from "@budgie/core/egress";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createProxyPlace, openTunnel, readToEnd, toPolicy, type ProxyPlace } from "../helpers/proxy-place.ts";
import { name, sni, toHello } from "../tls/client-hello.ts";

let place: ProxyPlace;
beforeAll(async () => {
  place = await createProxyPlace(toPolicy("allowlist", "allowed.test:1=127.0.0.1"));
});
afterAll(() => place.close());

describe("allowed tunnels", () => {
  it.each([
    ["ends", (socket: Socket) => void socket.end()],
    ["breaks off", (socket: Socket) => void socket.destroy()],
  ])("are reported as allowed if their client %s them without a byte", async (_how, close) => {
    await place.session.take();
    const { socket } = await openTunnel(place.socketPath, `allowed.test:1`);
    const closed = once(socket.resume(), "close");
    close(socket);
    await closed;

    const expected = { allowed: [{ host: "allowed.test", port: 1, count: 1 }], denied: [] };
    expect(await takeSome()).toEqual(expected);
  });

  it("are refused if their client ends them in the middle of a hello", async () => {
    await place.session.take();
    const { socket } = await openTunnel(place.socketPath, `allowed.test:1`);
    socket.end(toHello(sni(name("allowed.test"))).subarray(0, 20));
    await readToEnd(socket.resume());

    expect(await place.session.take()).toMatchObject({
      allowed: [],
      denied: [{ why: "neither TLS nor HTTP was spoken" }],
    });
  });
});

/** Takes the log once it has an entry: a proxy learns of a broken connection later than its client. */
async function takeSome(): Promise<EgressReport> {
  for (;;) {
    const report = await place.session.take();
    if (report.allowed.length + report.denied.length > 0) return report;
    await nextTask();
  }
}
