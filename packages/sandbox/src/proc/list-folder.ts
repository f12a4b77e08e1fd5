import { isAscii } from "node:buffer";
import { spawn } from "node:child_process";
import type { FileHandle } from "node:fs/promises";
import { SYSTEM_PATH } from "@budgie/core/walk";
import { readFewEntries, type FewEntry } from "./read-few-entries.ts";

/** An entry below a folder, as the kernel has it. */
export type ListedEntry = {
  /** Relative to the folder, which is itself the entry "". Bytes that are no UTF-8 are replaced */
  readonly path: string;
  /** The bytes of the path, each as a character of latin1 */
  readonly bytes: string;
  /** `find`'s letter: `f`, `d`, `l`, or another one */
  readonly type: string;
  /** Permission bits */
  readonly mode: number;
  readonly size: number;
  readonly inode: string;
  /** The time of the last change of content or status, in milliseconds, which no program can choose */
  readonly changedMs: number;
  /** True if its file system may keep whole seconds only */
  readonly isCoarse: boolean;
  /** The target of a symlink, read as the path is */
  readonly target: string;
};

// The host takes nothing from further down.
const LEVELS = 130;
const MOST_BYTES = 64 * 1024 ** 2;
const LIMIT_MS = 60_000;
const FORMAT = String.raw`%y %m %s %C@ %i\0%P\0%l\0`;

/**
 * Lists an open folder and what is below it, parents first, without following symlinks. It runs `find` unless there is little, since an agent
 * decides the number of entries. Resolves to `undefined` if an entry stays hidden, or there are too many.
 */
export async function listFolder(
  folder: Pick<FileHandle, "fd">,
  { readFew = readFewEntries }: { readonly readFew?: typeof readFewEntries } = {},
): Promise<Buffer | undefined> {
  const few = readFew(folder);
  return few === undefined ? runFind(folder) : Buffer.from(few.map(formatEntry).join(""), "latin1");
}

/** Formats an entry as `find` does. */
function formatEntry({ bytes, facts, target }: FewEntry): string {
  const [seconds, rest] = [facts.ctimeNs / SECOND_NS, facts.ctimeNs % SECOND_NS];
  const mode = (Number(facts.mode) & 0o7777).toString(8);
  const changed = `${seconds}.${rest.toString().padStart(9, "0")}`;
  return `${toType(facts)} ${mode} ${facts.size} ${changed} ${facts.ino}\0${bytes}\0${target}\0`;
}

const SECOND_NS = 1_000_000_000n;

/** Returns `find`'s letter for what the host can take, and another one for anything else. */
function toType(facts: FewEntry["facts"]): string {
  if (facts.isFile()) return "f";
  if (facts.isDirectory()) return "d";
  return facts.isSymbolicLink() ? "l" : "?";
}

function runFind({ fd }: Pick<FileHandle, "fd">): Promise<Buffer | undefined> {
  const child = spawn("find", ["/proc/self/fd/3/.", "-maxdepth", String(LEVELS), "-printf", FORMAT], {
    stdio: ["ignore", "pipe", "pipe", fd],
    env: { LC_ALL: "C", PATH: SYSTEM_PATH },
    timeout: LIMIT_MS,
    killSignal: "SIGKILL",
  });
  const chunks: Buffer[] = [];
  let [bytes, isWhole] = [0, true];
  const giveUp = (): void => {
    isWhole = false;
    child.kill("SIGKILL");
  };
  child.stdout?.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) giveUp();
    else chunks.push(chunk);
  });
  // A folder that it may not read, or a format that it does not know.
  child.stderr?.on("data", giveUp);
  return new Promise((resolve) => {
    child.once("error", () => resolve(undefined));
    child.once("close", (code) => resolve(isWhole && code === 0 ? Buffer.concat(chunks) : undefined));
  });
}

/** Yields the entries of a listing. */
export function* parseListing(listing: Buffer): Generator<ListedEntry> {
  // One text, of which each entry is a part, since arrays and buffers for hundreds of thousands take longer to make than to read.
  const text = listing.toString("latin1");
  const toName = isAscii(listing) ? (bytes: string) => bytes : fromLatin1;
  for (let at = 0; at < text.length;) {
    const factsEnd = text.indexOf("\0", at);
    const pathEnd = text.indexOf("\0", factsEnd + 1);
    const targetEnd = text.indexOf("\0", pathEnd + 1);
    const modeAt = text.indexOf(" ", at) + 1;
    const sizeAt = text.indexOf(" ", modeAt) + 1;
    const changedAt = text.indexOf(" ", sizeAt) + 1;
    const inodeAt = text.indexOf(" ", changedAt) + 1;
    const changed = text.slice(changedAt, inodeAt - 1);
    const bytes = text.slice(factsEnd + 1, pathEnd);
    yield {
      path: toName(bytes),
      bytes,
      type: text.slice(at, modeAt - 1),
      mode: Number.parseInt(text.slice(modeAt, sizeAt), 8),
      size: Number(text.slice(sizeAt, changedAt)),
      inode: text.slice(inodeAt, factsEnd),
      changedMs: Number(changed) * 1000,
      isCoarse: /\.0*$/.test(changed),
      target: toName(text.slice(pathEnd + 1, targetEnd)),
    };
    at = targetEnd + 1;
  }
}

function fromLatin1(bytes: string): string {
  return Buffer.from(bytes, "latin1").toString();
}
