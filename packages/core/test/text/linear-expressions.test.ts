import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { describe, expect, it } from "vitest";
import { findExpressions, type Expression } from "./find-expressions.ts";

const LENGTH = 256 * 1024;
const CHARACTERS = Array.from("\r\n\t \u001B\u2028a0/\\-.:;\"'{[(<#");
// The reference takes longer than most linear expressions, since it replaces every character.
const REFERENCE: Matching = { file: "", source: ".", flags: "gs", piece: "a" };
// An expression that is not linear takes some 1,200 times as long; a loaded machine delays a match by much less.
const TOLERANCE = 40;

type Matching = Expression & { readonly piece: string };

describe("A regular expression of the sources", () => {
  it("takes linear time for 256 KiB of one character, or of its own literals", { timeout: 300_000 }, async () => {
    await using matcher = createMatcher();
    const limitMs = TOLERANCE * (await matcher.measure(REFERENCE, Infinity));
    const expressions = findExpressions();

    const slow: Matching[] = [];
    for (const expression of expressions) {
      for (const piece of [...CHARACTERS, ...toWords(expression)]) {
        const matching = { ...expression, piece };
        if ((await matcher.measure(matching, limitMs)) > limitMs) slow.push(matching);
      }
    }

    expect(slow).toEqual([]);
    expect(expressions).toContainEqual({
      file: "core/src/runner/session-id.ts",
      source: expect.any(String),
      flags: "",
    });
  });

  it.each([
    [String.raw`\r+\n`, "\r"],
    [String.raw`^\s*Command`, "\n"],
    [`agent ".*" not found`, 'agent "'],
  ])("would be recognised as quadratic: /%s/", { timeout: 60_000 }, async (source, piece) => {
    await using matcher = createMatcher();
    const limitMs = TOLERANCE * (await matcher.measure(REFERENCE, Infinity));

    const tookMs = await matcher.measure({ file: "", source, flags: "gm", piece }, limitMs);

    expect(tookMs).toBe(Infinity);
  });
});

/** Lists the literals of an expression, at each of which a match may begin. */
function toWords({ source }: Expression): readonly string[] {
  const words = source.match(/(?:[^\\^$.*+?()[\]{}|]|\\[^\w])+/g) ?? [];
  return [...new Set(words.map((word) => word.replaceAll("\\", "")))].filter((word) => word.length > 1);
}

type Matcher = AsyncDisposable & {
  /** Time in ms; `Infinity` beyond the limit */
  readonly measure: (matching: Matching, limitMs: number) => Promise<number>;
};

/** Matches in a worker thread, which can be terminated during a match. */
function createMatcher(): Matcher {
  let worker = start();
  return {
    async measure(matching, limitMs) {
      worker.postMessage(matching);
      const answered = once(worker, "message") as Promise<[number]>;
      const timer = Number.isFinite(limitMs) ? setTimeout(() => void worker.terminate(), limitMs) : undefined;
      const late = once(worker, "exit").then(() => [Infinity] as const);
      const [tookMs] = await Promise.race([answered, late]);
      clearTimeout(timer);
      if (tookMs === Infinity) worker = start();
      return tookMs;
    },
    async [Symbol.asyncDispose]() {
      await worker.terminate();
    },
  };
}

function start(): Worker {
  return new Worker(
    `const { parentPort } = require("node:worker_threads");
     const texts = new Map();
     parentPort.on("message", ({ flags, piece, source }) => {
       if (!texts.has(piece)) texts.set(piece, piece.repeat(${LENGTH} / piece.length) + "\\0");
       const expression = new RegExp(source, flags);
       const began = performance.now();
       texts.get(piece).replace(expression, "");
       parentPort.postMessage(performance.now() - began);
     });`,
    { eval: true },
  ).setMaxListeners(0);
}
