import type { Socket } from "node:net";
import { normalizeHostName } from "../rules/normalize-host-name.ts";
import { parseClientHello } from "./parse-client-hello.ts";
import { readUntil } from "./read-until.ts";

/** The first message of a client in a tunnel. */
export type Opening =
  | {
      readonly kind: "tls";
      /** Length of its ClientHello, in bytes */
      readonly end: number;
    }
  | { readonly kind: "http" }
  /** The client closed its side without a byte, as one does that keeps a connection ready and needs none */
  | { readonly kind: "nothing" }
  | { readonly kind: "refused"; readonly why: string };

type Timeout = { readonly timeoutMs: number };

const MAX_OPENING_BYTES = 20_000;
const MAX_EARLY_DATA_BYTES = 65_536;
const MOST_PIECES = 64;
const HELLO_RETRY_RANDOM = Buffer.from("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c", "hex");
// The random follows the record header, the handshake header and the version.
const RANDOM_AT = 5 + 4 + 2;

/** Reads the client's first message; `undefined` if none arrives before the timeout. TLS must name `host` as its server. */
export async function readOpening(
  client: Socket,
  host: string,
  { timeoutMs }: Timeout,
): Promise<{ readonly bytes: Buffer; readonly opening: Opening } | undefined> {
  let isSilent = true;
  const parse = (bytes: Buffer): Opening | undefined => {
    isSilent &&= bytes.length === 0;
    return readOpeningBytes(bytes, host);
  };
  const read = await readUntil(client, parse, { maxBytes: MAX_OPENING_BYTES, timeoutMs });
  if (read !== undefined) return { bytes: read.bytes, opening: read.result };
  const hasClosed = client.readableEnded || client.destroyed;
  return isSilent && hasClosed ? { bytes: Buffer.alloc(0), opening: { kind: "nothing" } } : undefined;
}

/**
 * Forwards the server's first bytes. If they are a HelloRetryRequest, checks the second hello like the first, and forwards it.
 */
export async function checkHelloRetry(
  { client, host, server }: { readonly client: Socket; readonly server: Socket; readonly host: string },
  { timeoutMs }: Timeout,
): Promise<"passed" | "unanswered" | "refused"> {
  const release = bufferClient(client);
  const answer = await readUntil(server, asksForRetry, { maxBytes: RANDOM_AT + 32, timeoutMs });
  release();
  if (!answer) return "unanswered";
  client.write(answer.bytes);
  if (!answer.result) return "passed";
  const parse = (bytes: Buffer): Opening | undefined => readOpeningBytes(withoutEarlyData(bytes), host);
  const second = await readUntil(client, parse, { maxBytes: MAX_EARLY_DATA_BYTES, timeoutMs });
  if (second?.result.kind !== "tls") return "refused";
  server.write(second.bytes);
  return "passed";
}

/** Buffers what a waiting client sends, since a paused socket does not report its end; the returned function puts it back. */
function bufferClient(client: Socket): () => void {
  let buffered: Buffer[] = [];
  let bytes = 0;
  const onData = (chunk: Buffer): void => {
    // Each buffer has an overhead of some hundred bytes, and the client chooses their sizes.
    if (buffered.push(chunk) === MOST_PIECES) buffered = [Buffer.concat(buffered)];
    bytes += chunk.length;
    if (bytes > MAX_EARLY_DATA_BYTES) client.pause();
  };
  const onEnd = (): void => void client.destroy();
  client.on("data", onData).on("end", onEnd).resume();
  return () => {
    client.off("data", onData).off("end", onEnd).pause();
    if (buffered.length > 0 && !client.destroyed) client.unshift(Buffer.concat(buffered));
  };
}

function readOpeningBytes(bytes: Buffer, host: string): Opening | undefined {
  const [first] = bytes;
  if (first === undefined) return undefined;
  if (first >= 0x41 && first <= 0x5a) return { kind: "http" };
  const hello = parseClientHello(bytes);
  if (hello === "more") return undefined;
  if (hello === "malformed") return { kind: "refused", why: "neither TLS nor HTTP was spoken" };
  if (hello.hasEncryptedHello)
    return { kind: "refused", why: "TLS hides the name of its server (encrypted ClientHello)" };
  if (hello.serverName === undefined) return { kind: "refused", why: "TLS does not name its server (no SNI)" };
  if (normalizeHostName(hello.serverName) !== host) return { kind: "refused", why: "TLS names another server (SNI)" };
  return { kind: "tls", end: hello.end };
}

function asksForRetry(bytes: Buffer): boolean | undefined {
  if (bytes.length > 0 && bytes[0] !== 22) return false;
  return bytes.length < RANDOM_AT + 32
    ? undefined
    : bytes.subarray(RANDOM_AT, RANDOM_AT + 32).equals(HELLO_RETRY_RANDOM);
}

// Before its second hello a client may send records that the server discards: a change of cipher spec, and early data.
function withoutEarlyData(bytes: Buffer): Buffer {
  let at = 0;
  while (at + 5 <= bytes.length && (bytes[at] === 20 || bytes[at] === 23)) at += 5 + bytes.readUInt16BE(at + 3);
  return bytes.subarray(Math.min(at, bytes.length));
}
