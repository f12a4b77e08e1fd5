import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough, Writable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { expect, it } from "vitest";
import { openKeptHomes } from "../../src/keeping/open-kept-homes.ts";
import { beginKept, openKeptPod } from "./begin-kept.ts";

const signal = new AbortController().signal;

async function keepHome(fill: (home: string) => void) {
  const all = await beginKept();
  const { pod, roots, running } = await openKeptPod();
  fill(roots.home);
  await all.kept.pack(pod, { ...all.packing, fillId: undefined });
  await running[Symbol.asyncDispose]();
  return { ...all, homes: openKeptHomes({ stateDir: all.stateDir, owner: all.owner }) };
}

it("a kept session is listed, exported as a tar without logins, and removed", async () => {
  await using all = await keepHome((home) => {
    mkdirSync(join(home, ".local/share/kiro-cli"), { recursive: true });
    for (const path of [".local/share/kiro-cli/data.sqlite3", "data.sqlite3-wal", "auth.json", "notes"])
      writeFileSync(join(home, path), path);
    symlinkSync("/etc/passwd", join(home, "link"));
    execFileSync("mkfifo", [join(home, "pipe")]);
  });
  const { folder, homes, kept, session } = all;
  expect(await homes.list()).toMatchObject([{ id: session, home: folder, owner: "own" }]);
  const to = new PassThrough();
  const [bytes, leftOut] = await Promise.all([buffer(to), homes.pack(session, to, { signal, logins: ["auth.json"] })]);

  const listed = execFileSync("tar", ["-tv"], { input: bytes, encoding: "utf8" }).trim().split("\n");
  expect(listed.map((line) => line.replace(/^(\S+).* (home\/.*)$/, "$1 $2")).toSorted()).toEqual([
    "-rw-r--r-- home/agent/.local/share/kiro-cli/data.sqlite3",
    "-rw-r--r-- home/agent/notes",
    "drwxr-xr-x home/agent/.local",
    "drwxr-xr-x home/agent/.local/share",
    "drwxr-xr-x home/agent/.local/share/kiro-cli",
    "lrw-r--r-- home/agent/link -> /etc/passwd",
  ]);
  expect(leftOut.toSorted()).toEqual([
    `"auth.json": it may hold a login.`,
    `"data.sqlite3-wal": it may hold a login.`,
    `"pipe": tar does not support its type.`,
  ]);
  await kept.markStale(session);
  expect(await homes.list()).toEqual([]);
  await expect(homes.pack(session, to, { signal })).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
  await homes.remove(session);
  expect(await kept.list()).toEqual([]);
});

it("an export ends with the error of its file or of its reader", async () => {
  await using all = await keepHome((home) => writeFileSync(join(home, "file"), Buffer.alloc(4 * 2 ** 20)));
  const { folder, homes, session } = all;
  const full = new Writable({ write: (_bytes, _encoding, done) => done(new Error("The disk is full.")) });
  await expect(homes.pack(session, full, { signal })).rejects.toThrow("The disk is full.");

  writeFileSync(join(folder, readdirSync(folder)[0] ?? ""), Buffer.alloc(100, "damage"));
  await expect(homes.pack(session, new PassThrough().resume(), { signal })).rejects.toMatchObject({
    code: "SESSION_UNUSABLE",
  });
});
