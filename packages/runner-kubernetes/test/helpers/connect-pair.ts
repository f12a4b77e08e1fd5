import { Duplex } from "node:stream";

/** Two ends of a connection in memory. */
export type Pair = { readonly budgie: Duplex; readonly pod: Duplex };

/** The bytes after which a connection breaks, in each direction. */
export type Cuts = { readonly toPod?: number; readonly toBudgie?: number };

/** Creates a connection that takes as many bytes as the cuts allow, and then breaks at both ends. It tells the length of each write. */
export function connectPair(
  { toBudgie = Infinity, toPod = Infinity }: Cuts = {},
  tell: (direction: "toPod" | "toBudgie", bytes: number) => void = () => undefined,
): Pair {
  let isBroken = false;
  const ends: Duplex[] = [];
  const breakBoth = (): void => {
    isBroken = true;
    for (const end of ends) end.destroy();
  };
  const toEnd = (direction: "toPod" | "toBudgie", most: number, other: () => Duplex | undefined): Duplex => {
    let left = most;
    let unblock: (() => void) | undefined;
    const end = new Duplex({
      read: () => undefined,
      write(chunk: Buffer, _encoding, done) {
        tell(direction, chunk.length);
        const target = other();
        const part = chunk.subarray(0, left);
        left -= part.length;
        if (part.length > 0 && target !== undefined && !target.push(part)) {
          unblock = done;
          waitForReader(target, () => unblock?.());
        } else done();
        if (left === 0) setImmediate(breakBoth);
      },
      final(done) {
        other()?.push(null);
        done();
      },
      destroy(error, done) {
        if (!isBroken) setImmediate(breakBoth);
        done(error);
      },
    });
    if (most === 0) setImmediate(breakBoth);
    return end;
  };
  const budgie = toEnd("toPod", toPod, () => ends[1]);
  const pod = toEnd("toBudgie", toBudgie, () => ends[0]);
  ends.push(budgie, pod);
  return { budgie, pod };
}

function waitForReader(target: Duplex, task: () => void): void {
  setImmediate(() => (target.readableLength === 0 || target.destroyed ? task() : waitForReader(target, task)));
}
