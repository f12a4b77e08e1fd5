import { Duplex, Writable } from "node:stream";
import type { Terminal, TerminalSize } from "@budgie/core/protocol";
import type { PodProcess } from "../session/start-process.ts";

const MOST_PIECE_BYTES = 16 * 1024;
const MOST_CHARACTERS = 0xffff;

/** Returns the terminal of a process of `hold terminal`, whose stdin are messages and whose stdout is what the terminal shows. */
export function toTerminal({ exit, stdin, stdout }: Pick<PodProcess, "exit" | "stdin" | "stdout">): Terminal {
  // A program that has ended takes no more keys.
  stdin.on("error", () => undefined);
  const keys = new Writable({
    write(typed: Buffer, _encoding, done) {
      for (let at = 0; at < typed.length; at += MOST_PIECE_BYTES)
        stdin.write(toMessage("i", typed.subarray(at, at + MOST_PIECE_BYTES)));
      if (stdin.writableNeedDrain) stdin.once("drain", done);
      else done();
    },
    final: (done) => void stdin.end(done),
  });
  const stream = Duplex.from({ readable: stdout, writable: keys });
  stream.on("error", () => undefined);
  const closed = new Promise<void>((resolve) => stream.once("close", resolve));
  stream.once("end", () => void stream.destroy());
  const code = exit.then(
    ({ exitCode }) => exitCode,
    () => undefined,
  );
  return {
    stream,
    exitCode: closed.then(() => code),
    async resize(size) {
      if (stdin.writable) stdin.write(toMessage("s", toBytes(size)));
    },
  };
}

function toMessage(kind: "i" | "s", payload: Buffer): Buffer {
  const header = Buffer.from([kind.charCodeAt(0), 0, 0]);
  header.writeUInt16LE(payload.length, 1);
  return Buffer.concat([header, payload]);
}

function toBytes({ columns, rows }: TerminalSize): Buffer {
  const bytes = Buffer.alloc(4);
  for (const [at, count] of [columns, rows].entries()) bytes.writeUInt16LE(Math.min(count, MOST_CHARACTERS), 2 * at);
  return bytes;
}
