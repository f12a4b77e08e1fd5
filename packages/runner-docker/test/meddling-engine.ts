import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connectEngine } from "../src/engine.ts";

/** The real engine behind a socket that meddles around one start of a container, the first one unless it is said which. */
export async function createMeddlingEngine(which = 0) {
  const { endpoint } = await connectEngine(process.env, process.env["HOME"] ?? "/root");
  if (!("socketPath" in endpoint.address)) throw new Error("The test needs an engine on a unix socket.");
  const { socketPath } = endpoint.address;
  const folder = mkdtempSync(join(tmpdir(), "budgie-meddling-"));
  const path = join(folder, "engine.sock");
  let meddling: Meddling | undefined;
  const sockets = new Set<Socket>();
  let starts = 0;
  const server = createServer((client) => {
    const engine = connect(socketPath);
    let isStarting = false;
    for (const socket of [client, engine]) sockets.add(socket.on("error", () => undefined));
    client.on("data", (chunk) => {
      if (/^POST [^ ]*\/start /.test(chunk.toString("latin1")) && starts++ === which) {
        isStarting = true;
        const meddled = meddling?.before();
        if (meddled !== undefined) return void meddled.then(() => engine.write(chunk));
      }
      engine.write(chunk);
    });
    engine.on("data", (chunk) => {
      if (isStarting) meddling?.after();
      isStarting = false;
      client.write(chunk);
    });
    client.on("end", () => engine.end()).on("close", () => engine.destroy());
    engine.on("end", () => client.end()).on("close", () => client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return {
    hostEnv: { DOCKER_HOST: `unix://${path}` },
    meddle: (around: Meddling) => void (meddling = around),
    starts: () => starts,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      rmSync(folder, { recursive: true });
    },
  };
}

type Meddling = { readonly before: () => void | Promise<void>; readonly after: () => void };
