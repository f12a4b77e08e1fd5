import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { LIMITS } from "../../src/bounds/limits.ts";
import { createProcessTransport, type ServerProcess } from "../../src/transport/process-transport.ts";
import { manage, toProcess } from "../helpers/servers.ts";

/** Returns a server that answers only `initialize`, or nothing, and cannot be stopped. */
function toUnstoppable(answers: boolean): ServerProcess {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const result = {
    protocolVersion: "2025-11-25",
    capabilities: { tools: {} },
    serverInfo: { name: "a", version: "1" },
  };
  stdin.once("data", (line: Buffer) => {
    const { id } = JSON.parse(String(line)) as { readonly id: number };
    if (answers) stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`);
  });
  const stop = (): Promise<void> => Promise.reject(new Error("The engine does not answer."));
  return { stdin, stdout, stderr, ended: new Promise(() => undefined), stop };
}

it("A server that sends a message of too many values is ended before it is parsed", async () => {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  let tellEnd = (_reason: string): void => undefined;
  const ended = new Promise<string>((resolve) => (tellEnd = resolve));
  const server = { stdin, stdout, stderr, ended, stop: async (): Promise<void> => tellEnd("stopped") };
  const transport = createProcessTransport(
    () => server,
    () => undefined,
  );
  const heard: unknown[] = [];
  transport.onmessage = (message) => void heard.push(message);
  transport.onerror = ({ message }) => void heard.push(message);
  await transport.start();
  const toMessage = (count: number): string => `{"id":1,"result":{"tools":[${"{},".repeat(count)}{}]}}\n`;

  stdout.write(toMessage(20_000));
  stdout.write(`${toMessage(25_000)}{"id":2}\n`);
  await ended;

  expect(heard).toEqual([expect.objectContaining({ id: 1 }), "it sent a message of more than 50000 values"]);
});

it("Values beyond the rate keep their server from being read for a while", async () => {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const server = { stdin, stdout, stderr, ended: new Promise<string>(() => undefined), stop: async () => undefined };
  const transport = createProcessTransport(
    () => server,
    () => undefined,
  );
  const isHeard = new Promise<void>((resolve) => (transport.onmessage = () => resolve()));
  await transport.start();
  const message = `{"id":1,"result":{"tools":[${"{},".repeat(24_000)}{}]}}\n`;
  const { perSecond, burst } = LIMITS.values;

  stdout.write(message.repeat(Math.ceil((burst + perSecond) / 48_000)));
  await isHeard;
  await new Promise(setImmediate);

  expect(stdout.isPaused()).toBe(true);
  await transport.close();
});

it.each([true, false])("A server that cannot be stopped fails by itself, its connection open: %j", async (answers) => {
  const server = toProcess("a");
  const connect = (): ReturnType<typeof createProcessTransport> =>
    createProcessTransport(
      () => toUnstoppable(answers),
      () => undefined,
    );
  const { manager } = manage({ servers: [server], connect, startTimeoutMs: 100 });

  await manager.start();

  expect(manager.list()).toMatchObject([{ state: "error", error: "it does not answer" }]);
  await manager[Symbol.asyncDispose]();
});
