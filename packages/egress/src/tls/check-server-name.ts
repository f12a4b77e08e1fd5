import type { Socket } from "node:net";
import { toHostName } from "../rules/host-name.ts";
import { parseClientHello } from "./parse-client-hello.ts";
import { readUntil } from "./read-until.ts";

/** What a client begins a tunnel with. */
export type Opening =
  | {
      readonly kind: "tls";
      /** How many of the bytes are its hello */
      readonly end: number;
    }
  | { readonly kind: "http" }
  | { readonly kind: "refused"; readonly why: string };

type Bounds = { readonly timeoutMs: number };

const MAX_OPENING_BYTES = 20_000;
const MAX_EARLY_DATA_BYTES = 65_536;
const HELLO_RETRY_RANDOM = Buffer.from("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c", "hex");
// Record header, handshake header and version, then the random that tells.
const RANDOM_AT = 5 + 4 + 2;

/** Reads what a client begins with; undefined if it did not, in time. TLS must name the server that it was let through to. */
export async function readOpening(
  client: Socket,
  host: string,
  { timeoutMs }: Bounds,
): Promise<{ readonly bytes: Buffer; readonly opening: Opening } | undefined> {
  const read = await readUntil(client, (bytes) => toOpening(bytes, host), { maxBytes: MAX_OPENING_BYTES, timeoutMs });
  return read && { bytes: read.bytes, opening: read.judgement };
}

/**
 * Passes on the server's first bytes. If they ask for a second hello, that one is checked as the first was, and passed on.
 */
export async function checkHelloRetry(
  { client, host, server }: { readonly client: Socket; readonly server: Socket; readonly host: string },
  { timeoutMs }: Bounds,
): Promise<"passed" | "unanswered" | "refused"> {
  const release = hold(client);
  const answer = await readUntil(server, asksForRetry, { maxBytes: RANDOM_AT + 32, timeoutMs });
  release();
  if (!answer) return "unanswered";
  client.write(answer.bytes);
  if (!answer.judgement) return "passed";
  const judge = (bytes: Buffer): Opening | undefined => toOpening(withoutEarlyData(bytes), host);
  const second = await readUntil(client, judge, { maxBytes: MAX_EARLY_DATA_BYTES, timeoutMs });
  if (second?.judgement.kind !== "tls") return "refused";
  server.write(second.bytes);
  return "passed";
}

/** Keeps reading from a client that has to wait, or nobody would notice that it left; it is given back what it sent. */
function hold(client: Socket): () => void {
  const held: Buffer[] = [];
  let bytes = 0;
  const onData = (chunk: Buffer): void => {
    held.push(chunk);
    bytes += chunk.length;
    if (bytes > MAX_EARLY_DATA_BYTES) client.pause();
  };
  const onEnd = (): void => void client.destroy();
  client.on("data", onData).on("end", onEnd).resume();
  return () => {
    client.off("data", onData).off("end", onEnd).pause();
    if (held.length > 0 && !client.destroyed) client.unshift(Buffer.concat(held));
  };
}

function toOpening(bytes: Buffer, host: string): Opening | undefined {
  const [first] = bytes;
  if (first === undefined) return undefined;
  if (first >= 0x41 && first <= 0x5a) return { kind: "http" };
  const hello = parseClientHello(bytes);
  if (hello === "more") return undefined;
  if (hello === "malformed") return { kind: "refused", why: "neither TLS nor HTTP was spoken" };
  if (hello.hasEncryptedHello)
    return { kind: "refused", why: "TLS hides the name of its server (encrypted ClientHello)" };
  if (hello.serverName === undefined) return { kind: "refused", why: "TLS does not name its server (no SNI)" };
  if (toHostName(hello.serverName) !== host) return { kind: "refused", why: "TLS names another server (SNI)" };
  return { kind: "tls", end: hello.end };
}

function asksForRetry(bytes: Buffer): boolean | undefined {
  if (bytes.length > 0 && bytes[0] !== 22) return false;
  return bytes.length < RANDOM_AT + 32
    ? undefined
    : bytes.subarray(RANDOM_AT, RANDOM_AT + 32).equals(HELLO_RETRY_RANDOM);
}

// Before its second hello a client may send what the server will throw away: a change of cipher, and early data.
function withoutEarlyData(bytes: Buffer): Buffer {
  let at = 0;
  while (at + 5 <= bytes.length && (bytes[at] === 20 || bytes[at] === 23)) at += 5 + bytes.readUInt16BE(at + 3);
  return bytes.subarray(Math.min(at, bytes.length));
}
