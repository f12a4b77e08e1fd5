import { BudgieError } from "@budgie/core";
import type { ProcessOrder } from "../requests/process-order.ts";

/** A message of the socket between sidecar and `hold`. */
export type HoldFrame = { readonly kind: string; readonly payload: Buffer };

/** The fewest and the most bytes of each kind that `hold` sends. */
const FROM_HOLD: Readonly<Record<string, readonly [number, number]>> = {
  H: [12, 12],
  P: [0, 0],
  O: [1, 65_536],
  R: [1, 65_536],
  U: [4, 4],
  E: [12, 12],
};

export const MOST_PIECE_BYTES = 65_536;
const MOST_START_BYTES = 2 * 1024 * 1024;
const HEADER_BYTES = 8;
const NO_JAIL = 0xff_ff_ff_ff;

/** Yields the messages of `hold`. Throws before memory is taken for what is none, and if the bytes end within one. */
export async function* readHoldFrames(source: AsyncIterable<Buffer>): AsyncGenerator<HoldFrame> {
  const header = Buffer.alloc(HEADER_BYTES);
  let [target, filled, kind]: [Buffer, number, string | undefined] = [header, 0, undefined];
  for await (const piece of source) {
    for (let at = 0; at < piece.length;) {
      const copied = piece.copy(target, filled, at);
      at += copied;
      filled += copied;
      if (filled < target.length) continue;
      filled = 0;
      if (kind === undefined) {
        const next = parseHeader(header);
        kind = next.kind;
        target = Buffer.allocUnsafeSlow(next.length);
        if (next.length > 0) continue;
      }
      yield { kind, payload: target };
      [target, kind] = [header, undefined];
    }
  }
  if (filled > 0 || kind !== undefined) throw holdError("it ended within a message");
}

function parseHeader(header: Buffer) {
  const kind = header.toString("latin1", 0, 1);
  const length = header.readUInt32LE(4);
  const [least, most] = Object.hasOwn(FROM_HOLD, kind) ? (FROM_HOLD[kind] ?? [1, 0]) : [1, 0];
  if (header.readUIntLE(1, 3) !== 0 || length < least || length > most) throw holdError("it sent no message");
  return { kind, length };
}

/** Returns the bytes of a message to `hold`. */
export function encodeHoldFrame(kind: "S" | "I" | "K", payload: Buffer): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.write(kind, 0, "latin1");
  header.writeUInt32LE(payload.length, 4);
  return Buffer.concat([header, payload]);
}

/** Returns numbers of 32 bits as a payload. */
export function toNumbers(numbers: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * numbers.length);
  for (const [index, number] of numbers.entries()) bytes.writeUInt32LE(number, 4 * index);
  return bytes;
}

/** Returns the message that starts a process. Throws `INPUT_INVALID` if it is too long. */
export function toStart({ argv, directory, env, isReadOnly, limits, ports, unset }: ProcessOrder): Buffer {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const counts = [
    argv.length,
    variables.length,
    unset.length,
    ports?.length ?? NO_JAIL,
    limits.pids,
    Number(isReadOnly),
  ];
  const text = [directory, ...argv, ...variables, ...unset].map((one) => `${one}\0`).join("");
  const payload = Buffer.concat([toNumbers([...counts, ...(ports ?? [])]), Buffer.from(text)]);
  if (payload.length > MOST_START_BYTES)
    throw new BudgieError(
      "INPUT_INVALID",
      "The arguments and variables of the process take more than 2 MiB. Send less.",
    );
  return encodeHoldFrame("S", payload);
}

/** Returns the error of a `hold` that broke the rules. The text is budgie's own. */
export function holdError(fault: string): BudgieError {
  return new BudgieError(
    "SESSION_UNUSABLE",
    `The program that starts agents in the Pod broke the rules: ${fault}. Begin a new session.`,
  );
}
