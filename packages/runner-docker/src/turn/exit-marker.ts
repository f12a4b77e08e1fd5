import { PassThrough, Transform } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { ContainerRoot } from "../container-files/container-root.ts";

/** What the init script of a turn says last, on both of its streams: how the command ended. */
export type ExitMarker = {
  readonly exitCode: number;
  /** How many processes were killed for memory; `undefined` where a container cannot tell */
  readonly oomKills: number | undefined;
};

/** One of a turn's streams, for whoever reads what the agent says: the exit marker is not in it. */
export type Output = {
  readonly stream: Transform;
  readonly exitMarker: Promise<ExitMarker>;
  /** Lets the reader have its end, though the connection still stands */
  end(): void;
};

// A code, a number and the end of the line.
const LONGEST_BYTES = 64;

/** Creates a stream that passes everything on, but for an exit marker behind `token`; without one there will be none. */
export function createOutput(token: string | undefined): Output {
  const { exitMarker, stream } = token === undefined ? createUnmarked() : createMarked(token);
  return { stream, exitMarker, end: () => void stream.push(null) };
}

type Hearing = Pick<Output, "exitMarker" | "stream">;

function createUnmarked(): Hearing {
  return { stream: new PassThrough(), exitMarker: new Promise(() => undefined) };
}

function createMarked(token: string): Hearing {
  // No text has a NUL character, so nothing of a conversation is ever held back.
  const mark = Buffer.from(`\0${token} `);
  let say: (word: ExitMarker) => void = () => undefined;
  const exitMarker = new Promise<ExitMarker>((resolve) => void (say = resolve));
  let held: Buffer = Buffer.alloc(0);
  let isOver = false;
  const stream = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      // Who still talks then is about to be killed.
      if (isOver) return done();
      const all = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      const { at, word } = find(all, mark);
      if (word !== undefined) say(word);
      isOver = word !== undefined;
      held = isOver ? Buffer.alloc(0) : all.subarray(at);
      done(null, all.subarray(0, at));
    },
    flush: (done) => done(null, held),
  });
  return { stream, exitMarker };
}

type Found = { readonly at: number; readonly word: ExitMarker | undefined };

/** Where the exit marker begins, or may begin when more has come. */
function find(bytes: Buffer, mark: Buffer): Found {
  const at = bytes.indexOf(mark);
  if (at < 0) return { at: bytes.length - toBegunLength(bytes, mark), word: undefined };
  const said = bytes.subarray(at + mark.length).toString("latin1", 0, LONGEST_BYTES);
  const [, code, kills] = /^(\d{1,3}) (\d*)\n/.exec(said) ?? [];
  if (code === undefined) return { at: said.length < LONGEST_BYTES ? at : bytes.length, word: undefined };
  return { at, word: { exitCode: Number(code), oomKills: kills ? Number(kills) : undefined } };
}

/** How many bytes at the end may be the beginning of a mark. */
function toBegunLength(bytes: Buffer, mark: Buffer): number {
  const at = bytes.lastIndexOf(mark.subarray(0, 1));
  const end = bytes.subarray(at);
  return at >= 0 && end.length < mark.length && mark.subarray(0, end.length).equals(end) ? end.length : 0;
}

// A container dies within a few milliseconds of its exit marker; later the engine knows too.
const POLL_MS = 2;
const MOST_POLLS = 100;

/**
 * Waits for the exit marker and for the kernel to say that nothing runs in the container any more, some 40 ms before its engine
 * does. `undefined` where either is silent, or the container cannot tell whether memory ran out: ask the engine.
 */
export async function awaitExitMarker(
  outputs: readonly Output[],
  root: Pick<ContainerRoot, "hasEnded">,
): Promise<ExitMarker | undefined> {
  const [word] = await Promise.all(outputs.map(({ exitMarker }) => exitMarker));
  if (word?.oomKills === undefined) return undefined;
  // The word alone would not do: what else runs there could still change files.
  for (let polls = 0; polls < MOST_POLLS; polls++) {
    if (await root.hasEnded()) return word;
    await sleep(POLL_MS);
  }
  return undefined;
}
