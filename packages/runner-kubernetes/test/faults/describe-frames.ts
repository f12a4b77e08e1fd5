import { createFrameReader } from "../../src/wire/frame-reader.ts";
import { encodeFrame, type Frame } from "../../src/wire/frame.ts";

/** The way of frames. */
export type Direction = "toPod" | "toBudgie";

/** The bytes of a frame, and a name for one that begins or ends something, or is a part of an agent's output. */
type Described = { readonly bytes: Buffer; readonly what: string | undefined };

/** Purposes of budgie's streams, by Pod and number: a stream outlives its connection. */
const purposes = new Map<string, string>();

/** Returns a reader of the frames of one connection, such as `open file fill`, `data turn` or `end turn`. */
export function describeFrames(pod: string, direction: Direction): (piece: Buffer) => readonly Described[] {
  const reader = createFrameReader();
  return (piece) =>
    [...reader.read(piece)].map((frame) => ({ bytes: encodeFrame(frame), what: describe(frame, pod, direction) }));
}

function describe({ kind, payload, stream }: Frame, pod: string, direction: Direction): string | undefined {
  const key = `${pod} ${stream}`;
  if (direction === "toPod") {
    if (kind !== "open") return undefined;
    const opening = JSON.parse(String(payload)) as Readonly<Record<string, string>>;
    const words = [opening["purpose"], opening["ask"] ?? opening["act"]].filter(Boolean).join(" ");
    purposes.set(key, words);
    return `open ${words}`;
  }
  const purpose = purposes.get(key);
  return purpose !== undefined && (kind === "data" || kind === "end") ? `${kind} ${purpose}` : undefined;
}
