import type { Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { pack, type Header, type Pack } from "tar-stream";
import { isHomePath } from "@budgie/core";
import type { FoundEntry } from "@budgie/core/copies";
import { createOmissions } from "@budgie/core/text";
import { COMPANIONS, DATABASE } from "@budgie/sandbox/login";
import { SANDBOX } from "@budgie/sandbox/profile";
import { fromRecords } from "@budgie/sandbox/records";

/** A home to write as a tar. */
export type KeptHomePacking = {
  /** Its records, of which an agent may have invented any */
  readonly records: AsyncIterable<Buffer>;
  readonly packedAt: Date;
  readonly to: Writable;
  readonly signal: AbortSignal;
  /** The paths below the home that may hold logins of other programs; default none */
  readonly logins?: readonly string[] | undefined;
};

const HOME = SANDBOX.home.slice(1);
const DATABASES: ReadonlySet<string> = new Set(["", ...COMPANIONS].map((ending) => DATABASE + ending));
/** The folder of the database from which the login was removed when the session was packed. */
const CLEARED = ".local/share/kiro-cli/";

/** Writes a home as a tar, and resolves to a sentence for each omitted entry. */
export async function packKeptHome({ to, signal, ...home }: KeptHomePacking): Promise<readonly string[]> {
  const packed = pack();
  const writing = pipeline(packed as unknown as Readable, to, { signal });
  const copying = copyAll(packed, home);
  // The one that fails ends the other, with its reason.
  copying.catch((error: unknown) => packed.destroy(error as Error));
  const [leftOut] = await Promise.all([Promise.race([copying, failureOf(writing)]), writing]);
  return leftOut;
}

function failureOf(work: Promise<void>): Promise<never> {
  return new Promise((_resolve, reject) => void work.catch(reject));
}

async function copyAll(
  packed: Pack,
  { logins = [], packedAt, records }: Omit<KeptHomePacking, "signal" | "to">,
): Promise<readonly string[]> {
  const leftOut = createOmissions();
  const names = new Set(logins);
  for await (const found of fromRecords(records)) {
    const { path } = found.entry;
    const why = findFault(path, names);
    const header = why === undefined ? toHeader(found, packedAt) : undefined;
    if (header === undefined) leftOut.add(`"${path.slice(0, 300)}": ${why ?? "tar does not support its type."}`);
    else if (found.content === undefined) await addWhole(packed, header);
    else await pipeline(found.content, packed.entry(header) as unknown as Writable);
  }
  packed.finalize();
  return leftOut.list();
}

function findFault(path: string, logins: ReadonlySet<string>): string | undefined {
  if (!isHomePath(path)) return "its path is none of a home.";
  const name = path.slice(path.lastIndexOf("/") + 1);
  const isCleared = path === CLEARED + name;
  return logins.has(path) || (DATABASES.has(name) && !isCleared) ? "it may hold a login." : undefined;
}

type NewHeader = Partial<Header> & { readonly name: string };

/** Returns the header of an entry; `undefined` for a pipe or a socket. */
function toHeader({ entry }: FoundEntry, mtime: Date): NewHeader | undefined {
  const header = { name: `${HOME}/${entry.path}`, mtime };
  if (entry.kind === "folder") return { ...header, type: "directory", mode: entry.mode };
  if (entry.kind === "link") return { ...header, type: "symlink", linkname: entry.target };
  return entry.kind === "file" ? { ...header, type: "file", mode: entry.mode, size: entry.size } : undefined;
}

function addWhole(packed: Pack, header: NewHeader): Promise<void> {
  return new Promise((resolve, reject) => {
    packed.entry(header, "", (error) => (error ? reject(error) : resolve()));
  });
}
