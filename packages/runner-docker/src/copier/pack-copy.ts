import { Readable, type Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { pack, type Header, type Pack } from "tar-stream";
import type { FilledEntry } from "@budgie/core/copies";
import type { SandboxUser } from "@budgie/sandbox/profile";

export type CopyPacking = {
  /** The folder's path in the container, without a slash at its beginning */
  readonly folder: string;
  readonly user: SandboxUser;
};

/** Packs a folder with these entries, all of which belong to `user`. The archive fails with the error that ends the entries. */
export function packCopy(entries: AsyncIterable<FilledEntry>, packing: CopyPacking): Readable {
  const archive = pack();
  fill(archive, entries, packing).catch((error: unknown) => archive.destroy(error as Error));
  return archive as unknown as Readable;
}

async function fill(archive: Pack, entries: AsyncIterable<FilledEntry>, { folder, user }: CopyPacking): Promise<void> {
  const owned = { uid: user.uid, gid: user.gid };
  await addWhole(archive, { ...owned, name: `${folder}/`, type: "directory", mode: 0o755 });
  for await (const { content, entry, mtimeMs = Date.now() } of entries) {
    // The engine's tar keeps whole seconds only.
    const header = { ...owned, name: `${folder}/${entry.path}`, mtime: new Date(Math.floor(mtimeMs / 1000) * 1000) };
    if (entry.kind === "folder") await addWhole(archive, { ...header, type: "directory", mode: entry.mode });
    else if (entry.kind === "link") await addWhole(archive, { ...header, type: "symlink", linkname: entry.target });
    else if (content instanceof Readable) {
      const target = archive.entry({ ...header, mode: entry.mode, size: entry.size });
      await pipeline(content, target as unknown as Writable);
    } else await addWhole(archive, { ...header, mode: entry.mode }, content ?? Buffer.alloc(0));
  }
  archive.finalize();
}

/** Adds an entry, and waits until there is room for the next. */
function addWhole(
  archive: Pack,
  header: Partial<Header> & { readonly name: string },
  content: Buffer = Buffer.alloc(0),
): Promise<void> {
  return new Promise((resolve, reject) => {
    archive.entry(header, content, (error) => (error ? reject(error) : resolve()));
  });
}
