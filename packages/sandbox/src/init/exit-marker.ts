import { Transform } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { ContainerRoot } from "../proc/open-root.ts";

/** The last output of a turn's init script on both of its streams, with the command's exit code. */
export type ExitMarker = {
  readonly exitCode: number;
  /** Number of processes that the kernel killed for memory; `undefined` if the container cannot read it */
  readonly oomKills: number | undefined;
};

/** One of a turn's streams, without its exit marker. */
export type Output = {
  readonly stream: Transform;
  readonly exitMarker: Promise<ExitMarker>;
  /** Ends the stream for its reader while the connection is still open */
  end(): void;
  /** Returns true once the stream has ended without an exit marker. */
  isCutOff(): boolean;
};

// The longest exit code, number and newline.
const LONGEST_BYTES = 64;

/** Creates a stream that passes everything on except the exit marker after `token`. */
export function createOutput(token: string): Output {
  // Text has no NUL character, so no part of a conversation is ever delayed.
  const mark = Buffer.from(`\0${token} `);
  let resolveMarker: (marker: ExitMarker) => void = () => undefined;
  const exitMarker = new Promise<ExitMarker>((resolve) => void (resolveMarker = resolve));
  let held: Buffer = Buffer.alloc(0);
  let hasMarker = false;
  let isOver = false;
  const stream = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      // Processes that still write after the marker are about to be killed.
      if (hasMarker) return done();
      const all = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      const { at, marker } = find(all, mark);
      if (marker !== undefined) resolveMarker(marker);
      hasMarker = marker !== undefined;
      held = hasMarker ? Buffer.alloc(0) : all.subarray(at);
      done(null, all.subarray(0, at));
    },
    flush(done) {
      isOver = true;
      done(null, held);
    },
  });
  return { stream, exitMarker, end: () => void stream.push(null), isCutOff: () => isOver && !hasMarker };
}

type Found = { readonly at: number; readonly marker: ExitMarker | undefined };

/** Finds the position at which the exit marker begins, or may begin once more bytes arrive. */
function find(bytes: Buffer, mark: Buffer): Found {
  const at = bytes.indexOf(mark);
  if (at < 0) return { at: bytes.length - countBegun(bytes, mark), marker: undefined };
  const said = bytes.subarray(at + mark.length).toString("latin1", 0, LONGEST_BYTES);
  const [, code, kills] = /^(\d{1,3}) (\d*)\n/.exec(said) ?? [];
  if (code === undefined) return { at: said.length < LONGEST_BYTES ? at : bytes.length, marker: undefined };
  return { at, marker: { exitCode: Number(code), oomKills: kills ? Number(kills) : undefined } };
}

/** Returns the number of bytes at the end that may be the beginning of a mark. */
function countBegun(bytes: Buffer, mark: Buffer): number {
  const at = bytes.lastIndexOf(mark.subarray(0, 1));
  const end = bytes.subarray(at);
  return at >= 0 && end.length < mark.length && mark.subarray(0, end.length).equals(end) ? end.length : 0;
}

// A container ends a few milliseconds after its exit marker; after 200 ms the engine knows too.
const POLL_MS = 2;
const MOST_POLLS = 100;

/**
 * Waits for the exit marker and for the end of the container's last process, which the kernel shows some 40 ms before the engine.
 * `undefined` if the process does not end before the timeout, or the container cannot tell whether memory ran out: the caller then asks the
 * engine.
 */
export async function awaitExitMarker(
  outputs: readonly Output[],
  root: Pick<ContainerRoot, "hasEnded">,
): Promise<ExitMarker | undefined> {
  const [marker] = await Promise.all(outputs.map(({ exitMarker }) => exitMarker));
  if (marker?.oomKills === undefined) return undefined;
  // The marker alone is not sufficient: other processes in the container could still change files.
  for (let polls = 0; polls < MOST_POLLS; polls++) {
    if (await root.hasEnded()) return marker;
    await sleep(POLL_MS);
  }
  return undefined;
}
