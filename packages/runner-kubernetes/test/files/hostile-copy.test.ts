import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { expect, it } from "vitest";
import { createSessionId } from "@budgie/core";
import { toRecords } from "@budgie/sandbox/records";
import { createPodCopy } from "../../src/files/create-pod-copy.ts";
import { fillVolume } from "../../src/files/fill-volume.ts";
import { findKinds } from "../../src/files/find-kinds.ts";
import { packVolume } from "../../src/files/pack-volume.ts";
import type { WireStream } from "../../src/wire/wire-stream.ts";
import { connectWires, passTurns } from "../helpers/connect-wires.ts";
import { toLivePod } from "./to-live-pod.ts";

const FAILED = { error: { code: "RUNNER_UNAVAILABLE", message: "The disk is broken." } };
const END = await buffer(Readable.from(toRecords(Readable.from([])), { objectMode: false }));

/** Connects a budgie to a Pod that answers each request as a test says. */
function connectPod(...answers: readonly ((stream: WireStream) => void)[]) {
  const wires = connectWires();
  void (async () => {
    for (const answer of answers) {
      while (wires.opened.length === 0) await passTurns(1);
      answer(wires.opened.shift() as WireStream);
    }
  })();
  return wires.budgie;
}

const say =
  (bytes: Buffer | string, last: Readonly<Record<string, unknown>> = { ok: true }) =>
  (stream: WireStream): void => {
    stream.input.resume();
    if (bytes.length > 0) stream.output.write(bytes);
    stream.end(last);
  };

async function readCopy(...answers: readonly ((stream: WireStream) => void)[]): Promise<number> {
  const { pod } = toLivePod(connectPod(say(""), ...answers));
  const copy = createPodCopy({ session: createSessionId(), openPod: async () => pod });
  await copy.fill(Readable.from([]));
  let count = 0;
  for await (const _found of copy.read()) count += 1;
  return count;
}

it("a copy is whole only if the Pod says so after its last record", async () => {
  expect(await readCopy(say(END))).toBe(0);
  await expect(readCopy(say(END, FAILED))).rejects.toThrow("The disk is broken.");
  await expect(readCopy(say(END.subarray(1), FAILED))).rejects.toThrow("The disk is broken.");
  await expect(readCopy(say(Buffer.concat([END, Buffer.alloc(2 ** 20)])))).rejects.toMatchObject({
    code: "SESSION_UNUSABLE",
  });
  await expect(readCopy(say(END.subarray(1)))).rejects.toMatchObject({ code: "RUNNER_UNAVAILABLE" });
  await expect(readCopy(say(Buffer.alloc(32)))).rejects.toMatchObject({ code: "SESSION_UNUSABLE" });
  await expect(readCopy(({ output }) => void output.destroy())).rejects.toMatchObject({ code: "RUNNER_UNAVAILABLE" });
});

it("a copy is read once the process that is in its way has ended, which the Pod says by a fact", async () => {
  const message = "A process of the session runs in the Pod.";
  const busy = { code: "RUNNER_UNAVAILABLE", message, isBusy: true };
  expect(await readCopy(say("", { error: busy }), say("", { error: busy }), say(END))).toBe(0);
  await expect(readCopy(say("", { error: { ...busy, isBusy: undefined } }), say(END))).rejects.toThrow(message);
});

it("a Pod that sends nothing is given up, and a reader that takes its time is not", async () => {
  const silent = packVolume(
    connectPod(({ output }) => void output.write("a")),
    "work",
    300,
  );
  expect((await silent.pieces.next()).value).toEqual(Buffer.from("a"));
  await expect(silent.pieces.next()).rejects.toThrow(/sent nothing of a volume/);

  let more: () => void = () => undefined;
  const slow = connectPod(({ output }) => {
    output.write("a");
    more = () => void output.write("b");
  });
  const { pieces, stop } = packVolume(slow, "work", 300);
  expect((await pieces.next()).value).toEqual(Buffer.from("a"));
  more();
  await sleep(700);
  expect((await pieces.next()).value).toEqual(Buffer.from("b"));
  stop();
});

it("a Pod that stops a fill says why, and gets no more of it", async () => {
  let isOver = false;
  async function* endless(): AsyncGenerator<Buffer> {
    try {
      for (;;) yield Buffer.alloc(65_536);
    } finally {
      isOver = true;
    }
  }
  const wire = connectPod(({ end, input }) => {
    void once(input, "readable").then(() => end(FAILED));
  });
  const records = Readable.from(endless(), { objectMode: false });

  await expect(fillVolume(wire, { volume: "work", records })).rejects.toThrow("The disk is broken.");
  expect(isOver).toBe(true);
});

it.each([
  ["another number of kinds", '["file"]'],
  ["an unknown kind", '["file","door"]'],
  ["no list", '{"length":2}'],
  ["no JSON", "["],
  ["too much", `["file",${" ".repeat(1000)}"file"]`],
])("an answer about paths with %s is refused", async (_what, said) => {
  await expect(findKinds(connectPod(say(said)), ["a", "b"])).rejects.toMatchObject({ code: "RUNNER_UNAVAILABLE" });
});

it("an answer about paths that failed is the Pod's error", async () => {
  await expect(findKinds(connectPod(say("[]", FAILED)), ["a"])).rejects.toThrow("The disk is broken.");
  expect(await findKinds(connectPod(say('["file",null]')), ["a", "b"])).toEqual(["file", undefined]);
});
