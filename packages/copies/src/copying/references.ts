import type { Readable } from "node:stream";
import type { FilledEntry, FoundEntry } from "@budgie/core/copies";
import { findReferenceBytes, readReferences, type Reference } from "../git/read-references.ts";

// More than a repository that people work in has. Those of the directory itself are all known, or an old one could count as new.
const MOST_OF_AGENT = 2000;

/** The references that have passed by. */
export type References = {
  readonly add: (path: string, content: Buffer) => void;
  readonly list: () => readonly Reference[];
  /** Returns the commits that they name, each once. */
  readonly tips: () => readonly string[];
};

/** Creates a list of the references of a directory, or of the first of an agent's copy. */
export function createReferences(of: "agent" | "directory"): References {
  const most = of === "agent" ? MOST_OF_AGENT : Infinity;
  const found: Reference[] = [];
  return {
    add(path, content) {
      for (const reference of readReferences(path, content)) {
        if (found.length < most) found.push(reference);
      }
    },
    list: () => found,
    tips: () => [...new Set(found.map(({ commit }) => commit))],
  };
}

/** Passes the entries of a fill on, and notes the references among them. */
export async function* watchFill(entries: AsyncIterable<FilledEntry>, references: References) {
  for await (const filled of entries) {
    const most = findReferenceBytes(filled.entry.path);
    if (Buffer.isBuffer(filled.content) && filled.content.length <= (most ?? -1)) {
      references.add(filled.entry.path, filled.content);
    }
    yield filled;
  }
}

/** Passes the entries of an agent's copy on, without the content of those from which it notes the references. */
export async function* watchFound(found: AsyncIterable<FoundEntry>, references: References) {
  for await (const each of found) {
    const { content, entry } = each;
    const most = findReferenceBytes(entry.path);
    if (content === undefined || entry.kind !== "file" || entry.size > (most ?? -1)) yield each;
    else {
      references.add(entry.path, await readAll(content));
      yield { entry };
    }
  }
}

async function readAll(content: Readable): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of content as AsyncIterable<Buffer>) pieces.push(piece);
  return Buffer.concat(pieces);
}
