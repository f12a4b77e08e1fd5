/** The parts of a TLS ClientHello that name servers. */
export type ClientHello = {
  readonly serverName: string | undefined;
  /** True if there is an encrypted ClientHello, which may name another server */
  readonly hasEncryptedHello: boolean;
  /** Length of its records in the stream, in bytes */
  readonly end: number;
};

const MAX_HELLO_BYTES = 16_384;
// Clients never split a hello into more, and each record costs a copy.
const MAX_RECORDS = 8;
const MAX_RECORD_BYTES = 16_384;
const HANDSHAKE_RECORD = 22;
const CLIENT_HELLO = 1;
const SERVER_NAME = 0;
const ENCRYPTED_CLIENT_HELLO = 0xfe0d;

/**
 * Parses the ClientHello at the start of a TLS stream. Returns `more` if it is incomplete, and `malformed` for anything that two
 * parsers could read differently.
 */
export function parseClientHello(bytes: Buffer): ClientHello | "more" | "malformed" {
  const handshake = joinHandshake(bytes);
  if (typeof handshake === "string") return handshake;
  try {
    const hello = parseHello(createReader(handshake.message));
    return hello === "malformed" ? hello : { ...hello, end: handshake.end };
  } catch (error) {
    if (error instanceof RangeError) return "malformed";
    throw error;
  }
}

type Handshake = { readonly message: Buffer; readonly end: number };

/** Joins the first records' handshake message; further bytes in its last record are malformed. */
function joinHandshake(bytes: Buffer): Handshake | "more" | "malformed" {
  let message: Buffer = Buffer.alloc(0);
  let at = 0;
  for (let records = 0; at < bytes.length; records += 1) {
    const length = readRecordLength(bytes.subarray(at, at + 5));
    if (typeof length === "string") return length;
    if (records === MAX_RECORDS) return "malformed";
    message = Buffer.concat([message, bytes.subarray(at + 5, at + 5 + length)]);
    const state = judgeMessage(message);
    at += 5 + length;
    if (state !== "more") return state === "complete" ? { message: message.subarray(4), end: at } : state;
  }
  return "more";
}

function readRecordLength(header: Buffer): number | "more" | "malformed" {
  if (header[0] !== HANDSHAKE_RECORD || (header.length > 1 && header[1] !== 3)) return "malformed";
  if (header.length < 5) return "more";
  const length = header.readUInt16BE(3);
  return length > 0 && length <= MAX_RECORD_BYTES ? length : "malformed";
}

function judgeMessage(message: Buffer): "more" | "complete" | "malformed" {
  if (message.length > 0 && message[0] !== CLIENT_HELLO) return "malformed";
  if (message.length < 4) return "more";
  const length = message.readUIntBE(1, 3) + 4;
  if (length > MAX_HELLO_BYTES || message.length > length) return "malformed";
  return message.length === length ? "complete" : "more";
}

type Reader = {
  readonly left: () => number;
  /** Throws a RangeError beyond the end */
  readonly number: (bytes: 1 | 2) => number;
  readonly take: (length: number) => Buffer;
};

function createReader(bytes: Buffer): Reader {
  let at = 0;
  const take = (length: number): Buffer => {
    if (at + length > bytes.length) throw new RangeError("The message ends before its announced length.");
    at += length;
    return bytes.subarray(at - length, at);
  };
  return { left: () => bytes.length - at, number: (length) => take(length).readUIntBE(0, length), take };
}

function parseHello(hello: Reader): Omit<ClientHello, "end"> | "malformed" {
  hello.take(2 + 32);
  hello.take(hello.number(1));
  hello.take(hello.number(2));
  hello.take(hello.number(1));
  if (hello.left() === 0) return { serverName: undefined, hasEncryptedHello: false };
  const extensions = parseExtensions(createReader(hello.take(hello.number(2))));
  if (extensions === "malformed" || hello.left() > 0) return "malformed";
  const hasEncryptedHello = extensions.has(ENCRYPTED_CLIENT_HELLO);
  const names = extensions.get(SERVER_NAME);
  if (names === undefined) return { serverName: undefined, hasEncryptedHello };
  const serverName = parseServerName(createReader(names));
  return serverName === "malformed" ? "malformed" : { serverName, hasEncryptedHello };
}

function parseExtensions(reader: Reader): Map<number, Buffer> | "malformed" {
  const extensions = new Map<number, Buffer>();
  while (reader.left() > 0) {
    const type = reader.number(2);
    if (extensions.has(type)) return "malformed";
    extensions.set(type, reader.take(reader.number(2)));
  }
  return extensions;
}

/** Parses a server_name extension that has exactly one host name and nothing else. */
function parseServerName(reader: Reader): string {
  const list = createReader(reader.take(reader.number(2)));
  const type = list.number(1);
  const name = list.take(list.number(2));
  return type !== 0 || list.left() > 0 || reader.left() > 0 ? "malformed" : name.toString("latin1");
}
