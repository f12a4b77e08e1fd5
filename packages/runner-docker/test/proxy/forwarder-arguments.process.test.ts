import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer, text } from "node:stream/consumers";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createForwarderPlace, freePort, OWN_FORWARDER } from "./forwarder-place.ts";

// Connects to the proxy before anything else, and prints the answer.
const CONNECTS = `
  const peer = require("node:net").connect(Number(process.argv[1]), "127.0.0.1");
  peer.write(process.env.WORD);
  process.stdin.pipe(peer);
  let said = "";
  peer.on("data", (data) => (said += data)).on("end", () => {
    const blocked = /SigBlk:\\s+(\\w+)/.exec(require("node:fs").readFileSync("/proc/self/status", "latin1"))[1];
    console.log(JSON.stringify({ pid: process.pid, blocked, said }));
    process.exit();
  });
`;

// The forwarder runs on Linux only, like every sandbox.
describe.skipIf(process.platform !== "linux")("the arguments of the forwarder", () => {
  it.each([
    [[], /^usage: forwarder \[reverse\] SOCKET \[\[ADDRESS:\]PORT \[COMMAND ARGUMENT\.\.\.\]\]\n/],
    [["reverse", "/tmp/x", "80"], /^usage/],
    [["/tmp/x", "10.0.0.1:80"], /not an address of the loopback network and a port/],
    [["/tmp/x", "127.0.1:80"], /not an address of the loopback network and a port/],
    [["/tmp/x", "127.0.1.1"], /not an address of the loopback network and a port/],
    [["/tmp/x", "127.0.300.1:80"], /not a port/],
    [["/tmp/x", "127.0.1.1:0"], /not a port/],
    [["/tmp/x", "127.0.1.1:80x"], /not a port/],
    [["/tmp/x", "0", "/bin/true"], /not a port/],
    [["/tmp/".padEnd(108, "x")], /too long/],
    [["/tmp/x", "0"], /not a port/],
    [["/tmp/x", "65536"], /not a port/],
    [["/tmp/x", "80x"], /not a port/],
  ])("refuses the arguments %j", async (args, message) => {
    expect(await runToEnd(args)).toEqual([1, expect.stringMatching(message)]);
  });

  it("becomes a command, with its streams, variables and signals, once it listens for it", async () => {
    await using place = await createForwarderPlace();
    await place.serve((peer) => peer.pipe(peer));
    const [port, [forwarder = ""]] = [`${await freePort()}`, OWN_FORWARDER];
    const args = [place.socket, port, process.execPath, "-e", CONNECTS, port];
    const child = spawn(forwarder, args, { stdio: ["pipe", "pipe", "inherit"], env: { WORD: "hello" } });
    child.stdin.end(" from stdin");

    const [said] = await Promise.all([text(child.stdout), once(child, "exit")]);

    expect(JSON.parse(said)).toEqual({ pid: child.pid, blocked: "0000000000000000", said: "hello from stdin" });
  });

  it("leads a loopback address to a port through a socket, in whichever network each is", async () => {
    const folder = mkdtempSync(join(tmpdir(), "budgie-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const socket = join(folder, "s");
    const [inner, outer] = [await freePort(), await freePort()];
    const service = createServer({ allowHalfOpen: true }, (peer) => peer.pipe(peer)).listen(inner, "127.0.0.1");
    const [[command = ""], stopped] = [OWN_FORWARDER, ["/bin/sleep", "60"]];
    // Each becomes its command, and a child of it forwards.
    for (const args of [
      ["reverse", socket, `${inner}`],
      [socket, `127.0.1.1:${outer}`],
    ]) {
      const child = spawn(command, [...args, ...stopped], { stdio: "ignore" });
      onTestFinished(() => void child.kill("SIGKILL"));
    }
    const sent = randomBytes(300_000);
    const ask = (): Promise<Buffer> => {
      const client = connect({ host: "127.0.1.1", port: outer, allowHalfOpen: true });
      client.end(sent);
      return buffer(client);
    };

    const received = await vi.waitFor(async () => {
      const answer = await ask();
      expect(answer.length).toBe(sent.length);
      return answer;
    }, 10_000);

    expect(received.equals(sent)).toBe(true);
    // Every user may connect: the folder around it decides.
    expect(statSync(socket).mode & 0o777).toBe(0o777);
    service.close();
    await once(service, "close");
    const lost = await ask().catch(() => Buffer.alloc(0));
    expect(lost.length).toBe(0);
  });

  it("reports that it cannot run a command", async () => {
    const args = ["/tmp/x", `${await freePort()}`, "/no/such/program"];

    expect(await runToEnd(args)).toEqual([1, "forwarder: cannot run the command\n"]);
  });

  it("reports that it cannot listen", async () => {
    const port = await freePort();
    const taken = createServer().listen(port, "127.0.0.1");
    await once(taken, "listening");

    expect(await runToEnd(["/tmp/x", `${port}`])).toEqual([1, "forwarder: cannot listen on a loopback address\n"]);
    taken.close();
  });
});

async function runToEnd(args: readonly string[]): Promise<readonly [number | null, string]> {
  const [command = ""] = OWN_FORWARDER;
  const child = spawn(command, args, { stdio: ["ignore", "ignore", "pipe"], timeout: 5000 });
  const [said, [code]] = await Promise.all([text(child.stderr), once(child, "exit") as Promise<[number | null]>]);
  return [code, said];
}
