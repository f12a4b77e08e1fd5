/** Builds an index of version 2 that tracks these files. */
export function buildIndex(paths: readonly string[]): Buffer {
  const header = Buffer.from("DIRC\0\0\0\x02\0\0\0\0", "latin1");
  header.writeUInt32BE(paths.length, 8);
  const entries = paths.toSorted().map((path) => {
    const name = Buffer.from(path);
    const entry = Buffer.alloc(Math.ceil((62 + name.length + 1) / 8) * 8);
    entry.writeUInt32BE(0o100644, 24);
    entry.writeUInt16BE(name.length, 60);
    name.copy(entry, 62);
    return entry;
  });
  return Buffer.concat([header, ...entries, Buffer.alloc(20)]);
}
