import { once } from "node:events";
import type { Readable } from "node:stream";
import { pack, type Pack } from "tar-stream";
import { expect, it } from "vitest";
import { readFirst, unpackCopy } from "../../src/copier/unpack-copy.ts";

it("The archive of a second name ends when its content is not read", async () => {
  const archive = createArchive((tar) => tar.entry({ name: "big", size: 2 ** 30 }).write(Buffer.alloc(1024)));
  const closed = once(archive, "close");

  const found = await readFirst("again", archive);
  found?.content?.destroy();

  await closed;
  expect(found?.entry).toEqual({ path: "again", kind: "file", mode: 0o644, size: 2 ** 30 });
});

it("The archive of a second name that is a file no more ends at once", async () => {
  const archive = createArchive((tar) => tar.entry({ name: "folder", type: "directory" }));

  await readFirst("again", archive);

  expect(archive.destroyed).toBe(true);
});

it("The contents of second names count too", async () => {
  const archive = createArchive((tar) => {
    tar.entry({ name: "workspace/a" }, Buffer.alloc(10));
    for (const name of ["b", "c"]) tar.entry({ name: `workspace/${name}`, type: "link", linkname: "workspace/a" });
    tar.finalize();
  });
  const readAgain = async (path: string) => ({ entry: { path, kind: "file", mode: 0o644, size: 10 } }) as const;
  const read: string[] = [];

  const reading = (async () => {
    const bounds = { entries: 10, bytes: 25 };
    for await (const { entry } of unpackCopy(archive, { bounds, readAgain })) read.push(entry.path);
  })();

  await expect(reading).rejects.toThrow("more than budgie reads");
  expect(read).toEqual(["a", "b"]);
});

function createArchive(fill: (tar: Pack) => unknown): Readable {
  const tar = pack();
  fill(tar);
  return tar as unknown as Readable;
}
