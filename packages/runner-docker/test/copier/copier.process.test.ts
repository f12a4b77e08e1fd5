import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer, text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import type { FilledEntry } from "@budgie/core/copies";
import { fromRecords, toRecords } from "@budgie/sandbox/records";

const binaryOf = (architecture: string): string =>
  fileURLToPath(new URL(`../../forwarder/linux-${architecture}`, import.meta.url));
const OWN = binaryOf(process.arch === "arm64" ? "arm64" : "amd64");
const EMULATOR = "qemu-aarch64-static";
const COPIERS = [[OWN], ...(spawnSync(EMULATOR, ["--version"]).status === 0 ? [[EMULATOR, binaryOf("arm64")]] : [])];

const createEntries = (): readonly FilledEntry[] => [
  { entry: { path: "closed", kind: "folder", mode: 0o555 } },
  { entry: { path: "closed/in", kind: "folder", mode: 0o500 } },
  {
    entry: { path: "closed/in/a.txt", kind: "file", mode: 0o640, size: 4 },
    content: Buffer.from("one\n"),
    mtimeMs: 5000,
  },
  { entry: { path: "empty", kind: "file", mode: 0o755, size: 0 }, content: Buffer.alloc(0) },
  {
    entry: { path: "large", kind: "file", mode: 0o600, size: 300_000 },
    content: Readable.from([Buffer.alloc(300_000, "x")]),
  },
  { entry: { path: "link", kind: "link", target: "/etc/passwd" } },
  { entry: { path: "nämé\n", kind: "file", mode: 0o644, size: 1 }, content: Buffer.from("y") },
];

async function* list(entries: readonly FilledEntry[]) {
  yield* entries;
}

describe.each(COPIERS.map((command) => ({ command })))(
  "the copier $command",
  ({ command: [program = "", ...rest] }) => {
    const start = (...words: readonly string[]) => spawn(program, [...rest, "copy", ...words]);

    async function unpack(folder: string, entries: readonly FilledEntry[]) {
      const copier = start("unpack", folder);
      const said = Promise.all([text(copier.stdout), text(copier.stderr)]);
      // It ends early if it fails.
      await pipeline(toRecords(list(entries)), copier.stdin).catch(() => undefined);
      return said;
    }

    async function pack(folder: string) {
      const found = new Map<string, object>();
      for await (const { content, entry } of fromRecords(start("pack", folder).stdout)) {
        found.set(entry.path, content === undefined ? entry : { ...entry, bytes: (await buffer(content)).length });
      }
      return found;
    }

    it("makes what it is sent, and sends what it finds, also what an agent has closed to itself", async () => {
      using folder = makeFolder();
      expect(await unpack(folder.path, createEntries())).toEqual(["done\n", ""]);
      linkSync(join(folder.path, "empty"), join(folder.path, "twice"));
      spawnSync("sh", ["-c", 'mkfifo "$0"', join(folder.path, "pipe")]);
      chmodSync(join(folder.path, "large"), 0);

      const found = await pack(folder.path);

      expect(lstatSync(join(folder.path, "closed/in/a.txt")).mtimeMs).toBe(5000);
      expect(readFileSync(join(folder.path, "closed/in/a.txt"), "utf8")).toBe("one\n");
      expect(readlinkSync(join(folder.path, "link"))).toBe("/etc/passwd");
      expect(lstatSync(join(folder.path, "large")).mode & 0o777).toBe(0);
      expect([...found.values()].toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)))).toEqual(
        [
          { path: "closed", kind: "folder", mode: 0o555 },
          { path: "closed/in", kind: "folder", mode: 0o500 },
          { path: "closed/in/a.txt", kind: "file", mode: 0o640, size: 4, bytes: 4 },
          { path: "empty", kind: "file", mode: 0o755, size: 0, bytes: 0 },
          { path: "large", kind: "file", mode: 0, size: 300_000, bytes: 300_000 },
          { path: "link", kind: "link", target: "/etc/passwd" },
          { path: "nämé\n", kind: "file", mode: 0o644, size: 1, bytes: 1 },
          { path: "pipe", kind: "other" },
          { path: "twice", kind: "file", mode: 0o755, size: 0, bytes: 0 },
        ].toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b))),
      );
    });

    it("writes through no symlink, outside of nothing and over nothing", async () => {
      using folder = makeFolder();
      using outside = makeFolder();
      symlinkSync(outside.path, join(folder.path, "out"));
      const file = (path: string): FilledEntry => ({
        entry: { path, kind: "file", mode: 0o600, size: 1 },
        content: Buffer.from("x"),
      });

      for (const path of ["out/evil", "../evil", "a/../../evil", "/etc/evil", "out", ""]) {
        expect(await unpack(folder.path, [file(path)])).toEqual(["", expect.stringMatching(/^error \d+ at /)]);
      }
      expect(lstatSync(outside.path).nlink).toBe(2);
      expect([...(await pack(folder.path)).keys()]).toEqual(["out"]);
    });

    it("says what lies at paths, and takes no folder behind a symlink for one", async () => {
      using folder = makeFolder();
      mkdirSync(join(folder.path, "real/sub"), { recursive: true });
      symlinkSync("real", join(folder.path, "link"));
      await unpack(folder.path, [{ entry: { path: "f", kind: "file", mode: 0o600, size: 0 } }]);

      const lister = start("list", folder.path, "real/sub", "f", "link", "link/sub", "none", "f/none");

      expect(await text(lister.stdout)).toBe("dflo-o\n");
    });

    it("says nothing of a copy whose records end early", async () => {
      using folder = makeFolder();
      const copier = start("unpack", folder.path);
      copier.stdin.end(Buffer.alloc(31));

      expect(await text(copier.stdout)).toBe("");
      expect(await once(copier, "close")).toEqual([1, null]);
    });
  },
);

function makeFolder(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), "budgie-"));
  return {
    path,
    [Symbol.dispose]() {
      spawnSync("chmod", ["-R", "u+rwX", path]);
      rmSync(path, { recursive: true, force: true });
    },
  };
}
