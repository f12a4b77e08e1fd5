import { once } from "node:events";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createOwner, type Owner } from "@budgie/core";
import { askOwner, type OwnerAnswer } from "@budgie/core/owners";
import { createTemporaryFolder } from "../helpers/temporary-folder.ts";

describe("askOwner", () => {
  it("yields what the owner sends, until it is done", async () => {
    const owner = await createAnswering(async (request, { send }) => {
      send({ heard: request });
      send("line\nbreak\u2028");
    });

    expect(await ask(owner, { ask: "runs" })).toEqual([{ heard: { ask: "runs" } }, "line\nbreak\u2028"]);
  });

  it("drops a last answer that was cut off", async () => {
    const lock = join(createTemporaryFolder(), "lock");
    const server = createServer((socket) => socket.end('{"whole":true}\n{"cut'));
    await once(server.listen(lock), "listening");
    onTestFinished(() => void server.close());

    expect(await ask({ record: { lock } }, {})).toEqual([{ whole: true }]);
  });

  it("leaves the owner alive to others, asked or not", async () => {
    const owner = await createAnswering(async () => undefined);
    const watcher = createOwner({ stateDir: createTemporaryFolder() });

    await ask(owner, {});

    expect(await watcher.stateOf(owner.record)).toBe("live");
  });

  it("yields nothing from an owner that answers no requests, or fails to", async () => {
    const silent = await createAnswering(undefined);
    const failing = await createAnswering(async () => {
      throw new Error("a bug");
    });

    expect(await ask(silent, {})).toEqual([]);
    expect(await ask(failing, {})).toEqual([]);
  });

  it("throws if the lock is gone, and when it is aborted", async () => {
    const waiting = await createAnswering(() => new Promise(() => undefined));
    const abort = new AbortController();
    const asked = ask(waiting, {}, abort.signal);
    abort.abort();

    await expect(asked).rejects.toThrow();
    await expect(ask({ record: { lock: "/nowhere/lock" } }, {})).rejects.toThrow("ENOENT");
  });

  it("tells the owner when the asker has left", async () => {
    const { promise: left, resolve } = withResolvers();
    const owner = await createAnswering(async (_, { send, signal }) => {
      signal.addEventListener("abort", resolve);
      send("first");
      await left;
    });
    for await (const _ of askOwner(owner.record, {}, new AbortController().signal)) break;

    await left;
  });

  it("is cut off when the owner releases its lock, which does not wait for it", async () => {
    const owner = await createAnswering(() => new Promise(() => undefined));
    const asked = ask(owner, {}).catch(() => "cut off");
    await new Promise((wake) => setTimeout(wake, 20));

    await owner.release();

    expect(await asked).toSatisfy((end) => end === "cut off" || (Array.isArray(end) && end.length === 0));
  });

  it.each([
    ["longer than any", "x".repeat(5_000)],
    ["not in JSON", "{\n"],
  ])("is cut off with a request that is %s", async (_, request) => {
    const owner = await createAnswering(async (_request, { send }) => send("answered"));
    const socket = connect(owner.record.lock);
    socket.on("error", () => undefined);
    let text = "";
    socket.on("data", (chunk) => (text += String(chunk)));
    socket.write(request);

    await once(socket, "close");

    expect(text).toBe("");
  });
});

async function createAnswering(answer: OwnerAnswer | undefined): Promise<Owner> {
  const owner = createOwner({ stateDir: join(createTemporaryFolder(), "s") });
  if (answer !== undefined) owner.answer(answer);
  await owner.hold();
  onTestFinished(() => owner.release());
  return owner;
}

async function ask(
  { record }: { readonly record: Pick<Owner["record"], "lock"> },
  request: unknown,
  signal = new AbortController().signal,
): Promise<readonly unknown[]> {
  const answers: unknown[] = [];
  for await (const answer of askOwner(record, request, signal)) answers.push(answer);
  return answers;
}

function withResolvers(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((done) => (resolve = done));
  return { promise, resolve };
}
