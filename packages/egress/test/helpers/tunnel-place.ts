import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import type { Socket } from "node:net";
import { afterEach } from "vitest";
import type { EgressProxyOptions } from "../../src/proxy/egress-proxy.ts";
import { createOrigin, createProxyPlace, openTunnel, toPolicy, type ProxyPlace } from "./proxy-place.ts";

export const MB = 1024 ** 2;
export const CONTENT: Buffer = randomBytes(32 * MB);
/** More bytes than the sockets on the way buffer */
export const PART: Buffer = CONTENT.subarray(0, 10 * MB);

/** A session of a proxy in front of a server that a test defines. */
type TunnelPlace = {
  readonly place: ProxyPlace;
  readonly open: () => Promise<Socket>;
  /** Opens a tunnel, and sends a byte through it */
  readonly ask: () => Promise<Socket>;
  readonly close: () => Promise<void>;
};

/** Returns a function that creates places; each is closed after its test. */
export function createTunnelPlaces(): typeof createTunnelPlace {
  const places: TunnelPlace[] = [];
  afterEach(async () => {
    for (const place of places.splice(0)) await place.close();
  });
  return async (serve, options) => {
    const place = await createTunnelPlace(serve, options);
    places.push(place);
    return place;
  };
}

async function createTunnelPlace(
  serve: (socket: Socket) => void,
  options: EgressProxyOptions = {},
): Promise<TunnelPlace> {
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

/** Sends the content after the first byte of a client, so that none of it arrives together with the answer to CONNECT. */
export const send = (socket: Socket): void => void socket.once("data", () => socket.end(CONTENT));
export const echo = (socket: Socket): void => void socket.pipe(socket);

export const sha256 = (content: Buffer): string => createHash("sha256").update(content).digest("hex");

/** Reads until the other side ends or closes; the socket stays open. */
export async function receive(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk)).resume();
  await Promise.race([once(socket, "end"), closed(socket)]);
  return Buffer.concat(chunks);
}

/** Reads at least the given number of bytes. */
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

/** Resolves when a socket closes; unlike `once`, an error does not reject it. */
export const closed = (socket: Socket): Promise<void> =>
  new Promise((resolve) => void socket.once("close", () => resolve()));
