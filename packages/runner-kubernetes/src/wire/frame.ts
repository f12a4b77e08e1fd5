import { wireError } from "./wire-error.ts";

/** The unit of what is sent over the wire: a header of 14 bytes, and a payload whose length the kind bounds. */
export type Frame = {
  readonly kind: Kind;
  /** The stream's number; 0 in frames of the wire itself */
  readonly stream: number;
  /** The frame's own number. In `hello` and `ack` it is the number of the frame that the sender expects next */
  readonly sequence: number;
  readonly payload: Buffer;
};

/** The kinds of frames: `hello`, `ack` and `close` are about the wire and have no number of their own, the others belong to a stream. */
export type Kind = keyof typeof KINDS;

/** The number of each kind, and the fewest and the most bytes of its payload. */
export const KINDS = {
  hello: { byte: 1, least: 17, most: 17 },
  ack: { byte: 2, least: 0, most: 0 },
  close: { byte: 3, least: 0, most: 0 },
  open: { byte: 4, least: 2, most: 16_384 },
  data: { byte: 5, least: 1, most: 65_536 },
  credit: { byte: 6, least: 4, most: 4 },
  end: { byte: 7, least: 0, most: 4_096 },
  reset: { byte: 8, least: 0, most: 0 },
} as const;

export const HEADER_BYTES = 14;

/** The cost of a frame besides its payload, so that many small frames in memory count as what they take there. */
export const FRAME_COST = 256;

const NAMES = new Map<number, Kind>(Object.entries(KINDS).map(([name, { byte }]) => [byte, name as Kind]));

/** Returns the bytes of a frame: u24 length, u8 kind, u32 stream, u48 sequence, payload. All numbers are big-endian. */
export function encodeFrame({ kind, payload, sequence, stream }: Frame): Buffer {
  const bytes = Buffer.allocUnsafe(HEADER_BYTES + payload.length);
  bytes.writeUIntBE(payload.length, 0, 3);
  bytes.writeUInt8(KINDS[kind].byte, 3);
  bytes.writeUInt32BE(stream, 4);
  bytes.writeUIntBE(sequence, 8, 6);
  payload.copy(bytes, HEADER_BYTES);
  return bytes;
}

/** Returns what a header announces. Throws before anything of a payload is kept that no frame of its kind can have. */
export function decodeHeader(header: Buffer): Omit<Frame, "payload"> & { readonly length: number } {
  const length = header.readUIntBE(0, 3);
  const kind = NAMES.get(header.readUInt8(3));
  if (kind === undefined) throw wireError("it sent a frame of no known kind");
  const { least, most } = KINDS[kind];
  if (length < least || length > most) throw wireError(`it sent a frame "${kind}" of ${length} bytes`);
  return { kind, length, stream: header.readUInt32BE(4), sequence: header.readUIntBE(8, 6) };
}
