import { BudgieError } from "@budgie/core";
import { orAborted, parseBoundedJson } from "@budgie/core/bounds";
import type { CopyCover } from "@budgie/sandbox/mounts";
import type { PodRequest } from "../requests/index.ts";
import { awaitAnswer } from "../session/ask-pod.ts";
import type { Wire } from "../wire/index.ts";

const KINDS: ReadonlySet<unknown> = new Set(["folder", "file", "link", "other", null]);
const MOST_PATHS = 20_000;
// A kind has at most eight bytes, with its quotes.
const KIND_BYTES = 12;
const LIMIT_MS = 60_000;

/** Finds the kinds of paths below the copy in a Pod; `undefined` for a missing one. */
export async function findKinds(
  wire: Wire,
  paths: readonly string[],
  signal?: AbortSignal,
): Promise<readonly (string | undefined)[]> {
  if (paths.length === 0) return [];
  const said = await askWithJson(wire, { ask: "kinds", value: paths, signal });
  const kinds = parseKinds(said);
  if (kinds?.length !== paths.length || !kinds.every((kind) => KINDS.has(kind))) throw answerError();
  return kinds.map((kind) => (typeof kind === "string" ? kind : undefined));
}

/** Hides what covers of the copy cover, until the Pod's next process has ended. */
export async function hideCovers(wire: Wire, covers: readonly CopyCover[], signal?: AbortSignal): Promise<void> {
  if (covers.length === 0) return;
  const hidden = covers.map(({ entry, path }) => ({ path, content: entry }));
  await askWithJson(wire, { ask: "hide", value: hidden, signal });
}

type JsonQuestion = {
  readonly ask: "hide" | "kinds";
  readonly value: readonly unknown[];
  readonly signal: AbortSignal | undefined;
};

/** Asks with JSON as input, and resolves to the bytes of the answer. */
async function askWithJson(wire: Wire, { ask, signal, value }: JsonQuestion): Promise<Buffer> {
  signal?.throwIfAborted();
  const stream = wire.open({ purpose: "control", ask } satisfies PodRequest);
  const limit = AbortSignal.timeout(LIMIT_MS);
  const over = signal === undefined ? limit : AbortSignal.any([limit, signal]);
  stream.output.end(JSON.stringify(value));
  const answered = awaitAnswer(stream);
  answered.catch(() => undefined);
  try {
    const said = await orAborted(readAll(stream.input, value.length * KIND_BYTES + 2), over);
    await orAborted(answered, over);
    return said;
  } catch (error) {
    throw limit.aborted ? silentError() : error;
  } finally {
    stream.input.destroy();
  }
}

async function readAll(input: AsyncIterable<Buffer>, mostBytes: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of input) {
    bytes += piece.length;
    if (bytes > mostBytes) throw answerError();
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

function parseKinds(said: Buffer): readonly unknown[] | undefined {
  try {
    const value = parseBoundedJson(said, { values: MOST_PATHS + 1, depth: 2 });
    return Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function answerError(): BudgieError {
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    "The Pod's answer about the copy is none that budgie knows. Use the same version of budgie for its image.",
  );
}

function silentError(): BudgieError {
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The Pod did not respond to a question about the copy for ${LIMIT_MS / 1_000} seconds. Check the cluster, or begin a new session.`,
  );
}
