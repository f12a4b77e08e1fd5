import { Readable } from "node:stream";
import { BudgieError } from "@budgie/core";
import { isRecord, parseBoundedJson } from "@budgie/core/bounds";
import type { CoverEntry } from "@budgie/core/policy";
import { toUnpackable } from "@budgie/sandbox/records";
import { unusableError, type HoldLink } from "../hold/hold-link.ts";
import { busyError, toPodError } from "../requests/to-pod-error.ts";
import type { WireStream } from "../wire/wire-stream.ts";
import { packVolume, unpackVolume } from "./unpack-volume.ts";
import { takeBytes, type PodProcesses } from "./create-turns.ts";
import { emptyFolder } from "./empty-folder.ts";
import type { HiddenPath, HidingPlace } from "./hiding-place.ts";
import { readHome, writeHome } from "./write-home.ts";
import { writeTrust } from "./write-trust.ts";
import { findKinds } from "./open-in.ts";
import { areFoldersOf, type PodRoots } from "./pod-roots.ts";
import { measureHome } from "./watch-home.ts";

/** The parts of a sidecar that answer requests. */
export type Answering = {
  readonly roots: PodRoots;
  readonly turns: PodProcesses;
  readonly hiding: HidingPlace;
  /** The copy, with the id of its last fill, unless that failed */
  readonly copy: { fillId: string | undefined };
  /** Resolves to the connection to `hold`. Rejects with `SESSION_UNUSABLE` once that has ended */
  readonly hold: () => Promise<HoldLink>;
};

type Answer = Readonly<Record<string, unknown>>;

const MOST_JSON_BYTES = 4 * 1024 * 1024;
const MOST_PATHS = 20_000;
const BOUNDS = { values: 200_000, depth: 8 };

/** Answers a stream that budgie opened, with its end or an error as the last value. Never rejects. */
export async function answerRequest(stream: WireStream, parts: Answering): Promise<void> {
  try {
    stream.end(await answer(stream, parts));
  } catch (error) {
    stream.end({ error: toPodError(error) });
  }
  // A sender that goes on would wait for credit.
  stream.input.resume();
}

async function answer(stream: WireStream, parts: Answering): Promise<Answer> {
  const { opening } = stream;
  const word = opening["ask"] ?? opening["act"];
  const key = typeof word === "string" ? `${opening.purpose} ${word}` : opening.purpose;
  const task = Object.hasOwn(ANSWERS, key) ? ANSWERS[key] : undefined;
  if (task === undefined) throw requestError("it is none that this Pod knows");
  return task(stream, parts);
}

const ANSWERS: Readonly<Record<string, (stream: WireStream, parts: Answering) => Promise<Answer>>> = {
  async turn(stream, { turns }) {
    return turns.run(stream, toCount(stream.opening["orderBytes"]));
  },
  async "control hello"(_stream, { hold, roots }) {
    const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = process.env;
    const service = host === undefined || port === undefined ? null : `${host}:${port}`;
    const areFoldersOwn = await areFoldersOf(process.getuid?.(), roots);
    return { ok: true, service, areFoldersOwn, ...(await (await hold()).hello) };
  },
  async "control stop"({ opening: { signal } }, { hold, turns }) {
    if (signal !== "TERM" && signal !== "KILL") throw requestError("it has no signal");
    if (!(await hold()).isOpen()) throw unusableError();
    turns.stop(signal);
    return { ok: true };
  },
  async "control kinds"({ input, output }, { hold, roots }) {
    await hold();
    const kinds = await findKinds(roots.tree, parsePaths(await readJson(input)));
    output.write(JSON.stringify(kinds));
    return { ok: true };
  },
  async "control hide"({ input }, { hiding, hold, turns }) {
    await hold();
    if (turns.isRunning()) throw busyError();
    await hiding.hide(parseHidden(await readJson(input)));
    return { ok: true };
  },
  async "control idle"(_stream, { hiding, hold, turns }) {
    await hold();
    if (turns.isRunning()) throw busyError();
    await hiding.restore();
    return { ok: true };
  },
  async "control usage"(_stream, { roots }) {
    return { ok: true, homeBytes: await measureHome(roots.home) };
  },
  async "control fill"(_stream, { copy }) {
    return { ok: true, fillId: copy.fillId ?? null };
  },
  async "file fill"({ input, opening }, { copy, hiding, roots, turns }) {
    const folder = toFolder(opening["volume"], roots);
    if (turns.isRunning()) throw busyError();
    if (folder === roots.tree) copy.fillId = undefined;
    await hiding.restore();
    await emptyFolder(folder);
    const records = opening["isPacked"] === true ? Readable.from(toUnpackable(input), { objectMode: false }) : input;
    await unpackVolume({ copier: copierOf(roots), folder }, records);
    if (folder === roots.tree && typeof opening["fillId"] === "string") copy.fillId = opening["fillId"];
    return { ok: true };
  },
  async "file pack"({ opening, output }, { hiding, roots, turns }) {
    const folder = toFolder(opening["volume"], roots);
    // Covers would be read in place of what they hide.
    if (folder === roots.tree && turns.isRunning()) throw busyError();
    if (!turns.isRunning()) await hiding.restore();
    await packVolume({ copier: copierOf(roots), folder }, output);
    return { ok: true };
  },
  async "file write"({ input, opening: { volume } }, { roots }) {
    if (volume !== "home" && volume !== "auth" && volume !== "shown")
      throw requestError("it has no volume to write to");
    await writeHome(roots[volume], input);
    return { ok: true };
  },
  async "file cover"({ input, opening }, { hiding, hold, roots, turns }) {
    await hold();
    const paths = parsePaths(await readList(input, toCount(opening["listBytes"])));
    if (turns.isRunning()) throw busyError();
    await hiding.clear(paths);
    await writeHome(roots.home, input);
    return { ok: true };
  },
  async "file trust"({ input, opening: { form } }, { roots }) {
    if (form !== "pem" && form !== "java") throw requestError("it has no form of certificates");
    await writeTrust(roots.trust[form], input);
    return { ok: true };
  },
  async "file read"({ opening: { mostBytes, path }, output }, { roots }) {
    if (typeof path !== "string") throw requestError("it has no path");
    const kind = await readHome(roots.home, { path, mostBytes: toCount(mostBytes) }, output);
    return kind === undefined ? { ok: true } : { ok: true, kind };
  },
};

function copierOf({ image }: PodRoots): string {
  return `${image}/forwarder`;
}

function toFolder(volume: unknown, { home, tree }: PodRoots): string {
  if (volume !== "home" && volume !== "work") throw requestError("it has no volume");
  return volume === "home" ? home : tree;
}

function toCount(value: unknown): number {
  if (!Number.isSafeInteger(value) || Number(value) < 0) throw requestError("a number of bytes is none");
  return Number(value);
}

async function readJson(input: Readable): Promise<unknown> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of input.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > MOST_JSON_BYTES) throw requestError("its input is too long");
    pieces.push(piece);
  }
  return parseInput(Buffer.concat(pieces));
}

/** Reads JSON of so many bytes, and leaves the others in the stream. */
async function readList(input: Readable, bytes: number): Promise<unknown> {
  if (bytes < 1 || bytes > MOST_JSON_BYTES) throw requestError("its list has no bytes, or too many");
  const list = await takeBytes(input, bytes);
  if (list === undefined) throw requestError("its list ends early");
  return parseInput(list);
}

function parseInput(bytes: Buffer): unknown {
  try {
    return parseBoundedJson(bytes, BOUNDS);
  } catch (error) {
    throw requestError("its input is not JSON within bounds", { cause: error });
  }
}

function parsePaths(value: unknown): readonly string[] {
  if (Array.isArray(value) && value.length <= MOST_PATHS && value.every((path) => typeof path === "string"))
    return value;
  throw requestError("its input is no list of paths");
}

function parseHidden(value: unknown): readonly HiddenPath[] {
  if (Array.isArray(value) && value.length <= MOST_PATHS && value.every(isHidden)) return value;
  throw requestError("its input is no list of paths to hide");
}

function isHidden(value: unknown): value is HiddenPath {
  return (
    isRecord(value) &&
    typeof value["path"] === "string" &&
    (value["content"] === undefined || isCover(value["content"]))
  );
}

function isCover(value: unknown): value is CoverEntry {
  if (value === "empty folder") return true;
  if (!isRecord(value)) return false;
  if (typeof value["content"] === "string") return true;
  const files = value["files"];
  return isRecord(files) && Object.entries(files).every(([name, text]) => isName(name) && typeof text === "string");
}

function isName(name: string): boolean {
  return name !== "" && name !== "." && name !== ".." && !name.includes("/") && !name.includes("\0");
}

function requestError(fault: string, options: ErrorOptions = {}): BudgieError {
  return new BudgieError(
    "INPUT_INVALID",
    `A request to the Pod was refused: ${fault}. Use the same version of budgie at both ends.`,
    options,
  );
}
