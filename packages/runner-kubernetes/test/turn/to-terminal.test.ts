import { once } from "node:events";
import { PassThrough } from "node:stream";
import { buffer, text } from "node:stream/consumers";
import { expect, it } from "vitest";
import type { Exit } from "@budgie/core";
import { toTerminal } from "../../src/turn/to-terminal.ts";

const EXIT: Exit = { exitCode: 5, signal: undefined, reason: undefined, oomKilled: false };

function begin() {
  const [stdin, stdout] = [new PassThrough({ highWaterMark: 100 }), new PassThrough()];
  const exited = { resolve: (_exit: Exit): void => undefined, reject: (_error: Error): void => undefined };
  const exit = new Promise<Exit>((resolve, reject) => Object.assign(exited, { resolve, reject }));
  return { stdin, stdout, exited, terminal: toTerminal({ stdin, stdout, exit }) };
}

it("sends what is typed and new sizes as messages, in their order", async () => {
  const { stdin, terminal } = begin();

  terminal.stream.write("ls\r");
  await once(stdin, "readable");
  await terminal.resize({ columns: 300, rows: 2 ** 20 });

  expect((stdin.read() as Buffer).toString("latin1")).toBe("i\u0003\u0000ls\rs\u0004\u0000\u002c\u0001\u00ff\u00ff");
});

it("splits what is longer than a message, and waits until it is taken", async () => {
  const { stdin, terminal } = begin();
  let isTaken = false;
  terminal.stream.write("x".repeat(100_000), () => (isTaken = true));
  terminal.stream.end();
  await once(stdin, "readable");
  expect(isTaken).toBe(false);

  let bytes = await buffer(stdin);
  let typed = 0;
  for (; bytes.length > 0; bytes = bytes.subarray(3 + bytes.readUInt16LE(1))) typed += bytes.readUInt16LE(1);
  expect(typed).toBe(100_000);
  expect(isTaken).toBe(true);
});

it("closes once all is shown, with the exit code, and takes no more keys and sizes", async () => {
  const { exited, stdin, stdout, terminal } = begin();
  stdout.end("last words");
  exited.resolve(EXIT);
  stdin.destroy();

  expect(await text(terminal.stream)).toBe("last words");
  expect(await terminal.exitCode).toBe(5);
  expect(terminal.stream.closed).toBe(true);
  await terminal.resize({ columns: 1, rows: 1 });
});

it("has no exit code if its Pod was lost", async () => {
  const { exited, stdout, terminal } = begin();
  exited.reject(new Error("The Pod is gone."));
  stdout.end();
  terminal.stream.resume();

  expect(await terminal.exitCode).toBeUndefined();
});
