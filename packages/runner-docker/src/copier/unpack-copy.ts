import { Readable } from "node:stream";
import type { Header } from "tar-stream";
import { BudgieError } from "@budgie/core";
import type { FoundEntry } from "@budgie/core/copies";
import { READ_BOUNDS, tooMuchError } from "@budgie/sandbox/records";
import { readTar } from "../container-files/read-tar.ts";

type Unpacking = {
  /** Reads the content of a path that is a second name of a file; `undefined` if that is gone */
  readonly readAgain: (path: string) => Promise<FoundEntry | undefined>;
  /** Default {@link READ_BOUNDS} */
  readonly bounds?: typeof READ_BOUNDS;
};

/** Yields the entries of the archive of a folder, without the folder itself. Rejects if there is too much in it, or the archive ends early. */
export async function* unpackCopy(
  archive: Readable,
  { bounds = READ_BOUNDS, readAgain }: Unpacking,
): AsyncGenerator<FoundEntry> {
  const left = { ...bounds };
  const again: string[] = [];
  try {
    for await (const entry of readTar(archive, endedEarly)) {
      const { header } = entry;
      const path = toPath(header.name);
      if (--left.entries < 0 || (left.bytes -= header.size ?? 0) < 0) throw tooMuchError(path);
      const pieces = toPieces(entry as unknown as AsyncIterable<Buffer>);
      if (header.type === "link") again.push(path);
      else if (path !== "") yield toFound(path, header, pieces);
      await pieces.drain();
    }
  } finally {
    archive.destroy();
  }
  yield* readSecondNames(again, { readAgain, left });
}

type Again = Pick<Unpacking, "readAgain"> & { readonly left: { bytes: number } };

async function* readSecondNames(paths: readonly string[], { left, readAgain }: Again): AsyncGenerator<FoundEntry> {
  for (const path of paths) {
    const found = await readAgain(path);
    if (found === undefined) continue;
    try {
      if (found.entry.kind === "file" && (left.bytes -= found.entry.size) < 0) throw tooMuchError(path);
      yield found;
    } finally {
      found.content?.destroy();
    }
  }
}

/** Reads the first entry of the archive of one path, which ends with that: an agent may have made any number of second names. */
export async function readFirst(path: string, archive: Readable): Promise<FoundEntry | undefined> {
  let found: FoundEntry | undefined;
  try {
    // A loop would end the archive with its first entry.
    const { done, value: entry } = await readTar(archive, endedEarly)[Symbol.asyncIterator]().next();
    if (done !== true) found = toFound(path, entry.header, toPieces(entry as unknown as AsyncIterable<Buffer>));
  } finally {
    if (found?.content === undefined) archive.destroy();
  }
  found?.content?.once("close", () => archive.destroy());
  return found;
}

/** Removes the folder itself, which begins all names, and the slash at the end of a folder's. */
function toPath(name: string): string {
  const slash = name.indexOf("/");
  return slash === -1 ? "" : name.slice(slash + 1).replace(/\/$/, "");
}

/** Converts an entry of a tar. */
function toFound(path: string, header: Header, pieces: Pieces): FoundEntry {
  const mode = (header.mode ?? 0) & 0o777;
  const { linkname, size, type } = header;
  if (type === "directory") return { entry: { path, kind: "folder", mode } };
  if (type === "symlink") return { entry: { path, kind: "link", target: linkname ?? "" } };
  if (type !== "file" && type !== "contiguous-file") return { entry: { path, kind: "other" } };
  return { entry: { path, kind: "file", mode, size }, content: pieces.content };
}

/** The content of an entry, which may be read in part. */
type Pieces = { readonly content: Readable; readonly drain: () => Promise<void> };

/** Reads an entry without ever destroying it, since that would end the whole archive. */
function toPieces(entry: AsyncIterable<Buffer>): Pieces {
  const source = entry[Symbol.asyncIterator]();
  let reading: Promise<IteratorResult<Buffer>> | undefined;
  async function* read(): AsyncGenerator<Buffer> {
    for (;;) {
      reading = source.next();
      const piece = await reading;
      if (piece.done === true) return;
      yield piece.value;
    }
  }
  const content = Readable.from(read(), { objectMode: false });
  // A reader that stops early knows why.
  content.on("error", () => undefined);
  return {
    content,
    async drain() {
      content.destroy();
      await reading?.catch(() => undefined);
      while ((await source.next()).done !== true);
    },
  };
}

function endedEarly(): BudgieError {
  return new BudgieError("RUNNER_UNAVAILABLE", "The engine's archive of the copy ended early. Try again.");
}
