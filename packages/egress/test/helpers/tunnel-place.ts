import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import type { Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { afterEach, expect } from "vitest";
import type { EgressProxyOptions } from "../../src/proxy/egress-proxy.ts";
import { createOrigin, createProxyPlace, openTunnel, toPolicy, type ProxyPlace } from "./proxy-place.ts";

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64" };
const architecture = process.platform === "linux" ? ARCHITECTURES[process.arch] : undefined;

/** The forwarder for this machine; where there is none, no tunnel is handed over. */
export const OWN_FORWARDER: string | undefined =
  architecture && fileURLToPath(new URL(`../../../runner-docker/forwarder/linux-${architecture}`, import.meta.url));

/** What has a proxy hand large tunnels over. */
export const HANDED: EgressProxyOptions = OWN_FORWARDER === undefined ? {} : { forwarder: OWN_FORWARDER };

export const MB = 1024 ** 2;
export const CONTENT: Buffer = randomBytes(64 * MB);
/** Enough to be handed over */
export const PART: Buffer = CONTENT.subarray(0, 10 * MB);

/** A door to a server that does what a test says. */
type TunnelPlace = {
  readonly place: ProxyPlace;
  readonly open: () => Promise<Socket>;
  /** Opens a tunnel, and says something in it */
  readonly ask: () => Promise<Socket>;
  readonly close: () => Promise<void>;
};

/** The places of a file's tests: each is closed after its test, which leaves no process that a tunnel was handed over to. */
export function createTunnelPlaces(): {
  readonly createPlace: typeof createTunnelPlace;
  readonly atEnd: (...endings: readonly (() => Promise<unknown>)[]) => void;
} {
  const endings: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const end of endings.splice(0)) await end();
    await expect.poll(() => findHandedOver()).toEqual([]);
  });
  return {
    async createPlace(serve, options) {
      const place = await createTunnelPlace(serve, options);
      endings.push(place.close);
      return place;
    },
    atEnd: (...more) => void endings.push(...more),
  };
}

async function createTunnelPlace(serve: (socket: Socket) => void, options: EgressProxyOptions): Promise<TunnelPlace> {
  const origin = await createOrigin(serve);
  const host = `allowed.test:${origin.port}`;
  const place = await createProxyPlace(toPolicy("open", `${host}=127.0.0.1`), options);
  const open = async (): Promise<Socket> => (await openTunnel(place.socketPath, host)).socket;
  const ask = async (): Promise<Socket> => {
    const socket = await open();
    socket.write("?");
    return socket;
  };
  const close = async (): Promise<void> => {
    await place.close();
    await origin.close();
  };
  return { place, open, ask, close };
}

/** A server that sends all when it is asked: what comes with the answer to CONNECT is not for the tests. */
export const send = (socket: Socket): void => void socket.once("data", () => socket.end(CONTENT));
export const echo = (socket: Socket): void => void socket.pipe(socket);

export const sha256 = (content: Buffer): string => createHash("sha256").update(content).digest("hex");

/** All that is received until the other side ends or hangs up; the socket stays open. */
export async function receive(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk)).resume();
  await Promise.race([once(socket, "end"), closed(socket)]);
  return Buffer.concat(chunks);
}

/** The next so many bytes, or some more. */
export async function receiveSome(socket: Socket, bytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let received = 0;
  const keep = (chunk: Buffer): void => {
    chunks.push(chunk);
    received += chunk.length;
  };
  socket.on("data", keep).resume();
  while (received < bytes) await once(socket, "data");
  socket.off("data", keep);
  return Buffer.concat(chunks);
}

/** Unlike `once`, it takes an error for no failure. */
export const closed = (socket: Socket): Promise<void> =>
  new Promise((resolve) => void socket.once("close", () => resolve()));

/** The processes that this one has handed tunnels over to, and those of them that nobody has waited for. */
export function findHandedOver(): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && isOwnTunnel(name))
    .map(Number);
}

function isOwnTunnel(pid: string): boolean {
  try {
    const [, status = ""] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ");
    const isOwn = Number(status.split(" ")[1]) === process.pid;
    return isOwn && readFileSync(`/proc/${pid}/comm`, "utf8").startsWith("linux-");
  } catch {
    return false;
  }
}
