import { spawn, type ChildProcessByStdio } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { HOLD } from "./hold-place.ts";

/** Starts a bridge to a socket, and returns the other end of it. */
async function createBridge(): Promise<
  { readonly child: ChildProcessByStdio<Writable, Readable, null>; readonly peer: Socket } & AsyncDisposable
> {
  const folder = mkdtempSync(join(tmpdir(), "budgie-"));
  const server = createServer({ allowHalfOpen: true }).listen(join(folder, "wire"));
  await once(server, "listening");
  const child = spawn(HOLD, ["bridge", join(folder, "wire")], { stdio: ["pipe", "pipe", "inherit"] });
  const [peer] = (await once(server, "connection")) as [Socket];
  return {
    child,
    peer,
    async [Symbol.asyncDispose]() {
      peer.destroy();
      child.kill();
      server.close();
      rmSync(folder, { recursive: true });
    },
  };
}

describe.skipIf(process.platform !== "linux")("hold bridge (on Linux)", () => {
  it("carries every byte of stdin, and ends with it", async () => {
    await using bridge = await createBridge();
    const up = randomBytes(5_000_000);

    bridge.child.stdin.end(up);
    const atPeer = await buffer(bridge.peer);

    expect(atPeer.equals(up)).toBe(true);
  });

  it("ends after the socket has ended, and everything was written", async () => {
    await using bridge = await createBridge();
    const down = randomBytes(5_000_000);

    bridge.peer.end(down);

    expect((await buffer(bridge.child.stdout)).equals(down)).toBe(true);
  });

  it("answers while its input waits", async () => {
    await using bridge = await createBridge();
    bridge.child.stdin.write("question");
    await once(bridge.peer, "data");

    bridge.peer.write("answer");

    expect((await once(bridge.child.stdout, "data"))[0].toString()).toBe("answer");
  });

  it("says that there is no socket", async () => {
    const child = spawn(HOLD, ["bridge", "/no/such"], { stdio: ["ignore", "ignore", "pipe"] });

    expect((await buffer(child.stderr)).toString()).toBe("hold: cannot connect to the socket\n");
  });

  it("waits for the socket as long as it is told", async () => {
    const folder = mkdtempSync(join(tmpdir(), "budgie-"));
    const child = spawn(HOLD, ["bridge", join(folder, "wire"), "60"], { stdio: ["pipe", "pipe", "inherit"] });
    try {
      child.stdin.write("question");
      // It has asked for the socket by then, and runs all the same.
      await new Promise((resolve) => setTimeout(resolve, 50));
      expect(child.exitCode).toBeNull();
      const server = createServer().listen(join(folder, "wire"));
      const [peer] = (await once(server, "connection")) as [Socket];

      expect((await once(peer, "data"))[0].toString()).toBe("question");
      peer.destroy();
      server.close();
    } finally {
      child.kill();
      rmSync(folder, { recursive: true });
    }
  });
});
