import type { FileHandle } from "node:fs/promises";
import { expect, it } from "vitest";
import type { FoundEntry } from "@budgie/core/copies";
import { readListed } from "../../src/copier/read-listed.ts";

it("A file is as the fill made it only if its times are so exact that a later change would show", async () => {
  const listed = [
    "d 755 4096 5.1000000000 1\0\0\0",
    // Its file system may keep whole seconds.
    "f 644 1 9.0000000000 2\0coarse\0\0",
    "f 644 1 9.0000000001 3\0exact\0\0",
    "f 644 1 10.4600000000 4\0tick\0\0",
    "f 644 1 ? 5\0timeless\0\0",
    "l 777 4 9.1000000000 6\0li\nnk\0a b\n\0",
    "p 644 0 9.1000000000 7\0pipe\0\0",
    "l 777 4 9.1000000000 8\0lünk\0zïel\0",
  ];
  const taken: string[] = [];
  const take = ({ path }: { readonly path: string }): boolean => taken.push(path) > 0;
  const reading = { take, readAgain: async () => undefined, sinceMs: 10_500 };

  const found: FoundEntry[] = [];
  for await (const entry of readListed({ fd: -1 } as FileHandle, Buffer.from(listed.join("")), reading))
    found.push(entry);

  expect(found.flatMap(({ content, entry }) => (content === undefined ? [] : [entry.path]))).toEqual([
    "coarse",
    "tick",
    "timeless",
  ]);
  expect(taken).toEqual(["exact"]);
  expect(found.map(({ entry }) => entry).slice(3)).toEqual([
    { path: "li\nnk", kind: "link", target: "a b\n" },
    { path: "pipe", kind: "other" },
    { path: "lünk", kind: "link", target: "zïel" },
  ]);
});
