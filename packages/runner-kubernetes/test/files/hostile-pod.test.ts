import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ArchiveEntry } from "@budgie/sandbox/home";
import { coverHome } from "../../src/files/cover-home.ts";
import { createPodHome } from "../../src/files/create-pod-home.ts";
import { findKinds, hideCovers } from "../../src/files/find-kinds.ts";
import type { WireStream } from "../../src/wire/index.ts";
import { connectWires } from "../helpers/connect-wires.ts";

let to: string;
beforeEach(() => void (to = mkdtempSync(join(tmpdir(), "budgie-saved-"))));
afterEach(() => rmSync(to, { recursive: true }));

/** A home in a Pod that answers each request as a test wants. */
function begin(answer: (stream: WireStream) => void) {
  const wires = connectWires();
  const { push } = wires.opened;
  wires.opened.push = (...streams) => {
    for (const stream of streams) answer(stream);
    return push.apply(wires.opened, streams);
  };
  const home = createPodHome(() => Promise.resolve(wires.budgie), wires.clock);
  return { ...wires, home, save: () => home.saveFiles("/home/agent/data", ["one", "two"], { to, maxBytes: 1_000 }) };
}

const endless = async (stream: WireStream): Promise<void> => {
  for (let open = true; open && !stream.output.destroyed;) {
    open = await new Promise<boolean>((resolve) =>
      stream.output.write(Buffer.alloc(10_000), (error) => resolve(!error)),
    );
  }
};

const FILE: ArchiveEntry = { path: "/home/agent/file", content: Buffer.alloc(3_000_000), mode: 0o600 };

describe("a Pod that sends more than it was asked for", () => {
  it("fills no memory and no disk", async () => {
    const { home, save } = begin((stream) => void endless(stream));

    await expect(home.readFile("file", 100_000)).rejects.toMatchObject({
      code: "SESSION_UNUSABLE",
      message: expect.stringContaining('"file"'),
    });
    await expect(save()).rejects.toMatchObject({ code: "SESSION_UNUSABLE" });
    expect(readdirSync(to)).toEqual([]);
  });

  it("keeps nothing of a file that it calls something else, in any word", async () => {
    for (const kind of ["link", null, 7, { toString: "x" }, "content"]) {
      const { home, save } = begin((stream) => {
        stream.output.write("bytes");
        stream.end({ ok: true, kind });
      });

      expect(await home.readFile("file", 100)).toBeUndefined();
      expect([...(await save())]).toEqual([]);
      expect(readdirSync(to)).toEqual([]);
    }
  });
});

describe("a Pod that lies about what it has", () => {
  it("has not got a file before that was sent", async () => {
    const { home } = begin((stream) => stream.end({ ok: true }));

    await expect(home.write([FILE])).rejects.toMatchObject({
      code: "SESSION_UNUSABLE",
      message: expect.stringContaining("before they were sent"),
    });
  });

  it("says an error whose code and words are bounded", async () => {
    const { budgie, home, save } = begin((stream) =>
      stream.end({ error: { code: "CONFIG_INVALID\u001b", message: `\u001b[2J${"x".repeat(3_000)}` } }),
    );

    const covers = { paths: ["a"], entries: [], shown: [] };
    const asked = [home.write([FILE]), home.readFile("file", 100), save(), coverHome(budgie, covers)];
    for (const result of await Promise.allSettled(asked)) {
      expect(result).toMatchObject({
        reason: { code: "RUNNER_UNAVAILABLE", message: expect.not.stringContaining("\u001b") },
      });
      expect(String("reason" in result && result.reason).length).toBeLessThan(1_100);
    }
    expect(readdirSync(to)).toEqual([]);
  });
});

describe("a Pod that is silent", () => {
  it.each([
    ["from the beginning", () => undefined],
    ["after some bytes", (stream: WireStream) => void stream.output.write("some")],
    ["after all bytes", (stream: WireStream) => stream.input.resume()],
  ])("%s is given up after a minute", async (_, answer) => {
    const { budgie, clock, home, opened, save } = begin(answer);
    const asked = [
      home.write([FILE]),
      home.readFile("file", 100),
      save(),
      coverHome(budgie, { paths: [], entries: [], shown: [] }, { clock }),
    ];
    const ended = Promise.allSettled(asked);
    await expect.poll(() => opened.length).toBe(4);

    // The wire hears heartbeats.
    for (let seconds = 0; seconds < 63; seconds += 9) {
      clock.advance(9_000);
      await new Promise((resolve) => setImmediate(resolve));
    }

    for (const result of await ended) {
      expect(result).toMatchObject({
        reason: { code: "RUNNER_UNAVAILABLE", message: expect.stringContaining("60 seconds") },
      });
    }
    expect(readdirSync(to)).toEqual([]);
  });

  it("is left at once when the turn is cancelled, and no stream stays open", async () => {
    const { budgie, opened } = begin(() => undefined);
    const cancelling = new AbortController();
    const { signal } = cancelling;
    const asked = [
      coverHome(budgie, { paths: [], entries: [], shown: [] }, { signal }),
      findKinds(budgie, ["a"], signal),
      hideCovers(budgie, [{ path: "a", entry: "empty folder" }], signal),
    ];
    const ended = Promise.allSettled(asked);
    await expect.poll(() => opened.length).toBe(3);

    const reason = new Error("cancelled");
    cancelling.abort(reason);
    for (const result of await ended) expect(result).toMatchObject({ reason });
    await expect.poll(() => opened.every(({ output }) => output.destroyed)).toBe(true);
    await expect(findKinds(budgie, ["a"], signal)).rejects.toBe(reason);
    expect(opened.length).toBe(3);
  });

  it("is given up after ten minutes if it sends single bytes", async () => {
    const streams: WireStream[] = [];
    const { clock, home } = begin((stream) => void streams.push(stream));
    const asked = home.readFile("file", 1_000).catch((error: unknown) => error);
    await expect.poll(() => streams.length).toBe(1);

    for (let count = 0; count < 70; count += 1) {
      streams[0]?.output.write("x");
      for (let turns = 0; turns < 5; turns += 1) await new Promise((resolve) => setImmediate(resolve));
      clock.advance(9_000);
    }

    expect(await asked).toMatchObject({ code: "RUNNER_UNAVAILABLE", message: expect.stringContaining("10 minutes") });
  });
});
