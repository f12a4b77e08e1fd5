import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough, Writable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { expect, it } from "vitest";
import { createSessionId } from "@budgie/core";
import { beginKept, openKeptPod } from "./begin-kept.ts";

const signal = new AbortController().signal;

async function keepHome(fill: (home: string) => void) {
  const all = await beginKept();
  const { pod, roots, running } = await openKeptPod();
  fill(roots.home);
  await all.kept.pack(pod, { ...all.packing, fillId: undefined });
  await running[Symbol.asyncDispose]();
  return all;
}

it("a kept home is exported as a tar without logins, unless a Pod has a newer one", async () => {
  await using all = await keepHome((home) => {
    mkdirSync(join(home, ".local/share/kiro-cli"), { recursive: true });
    for (const path of [".local/share/kiro-cli/data.sqlite3", "data.sqlite3-wal", "auth.json", "notes"])
      writeFileSync(join(home, path), path);
    symlinkSync("/etc/passwd", join(home, "link"));
    execFileSync("mkfifo", [join(home, "pipe")]);
  });
  const { kept, session } = all;
  const to = new PassThrough();
  const [bytes, leftOut] = await Promise.all([
    buffer(to),
    kept.exportHome(session, to, { signal, logins: ["auth.json"] }),
  ]);

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
  await expect(kept.exportHome(session, to, { signal })).rejects.toMatchObject({ code: "SESSION_UNUSABLE" });
  const missing = kept.exportHome(createSessionId(), to, { signal });
  await expect(missing).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
});

it("an export ends with the error of its file or of its reader", async () => {
  await using all = await keepHome((home) => writeFileSync(join(home, "file"), Buffer.alloc(4 * 2 ** 20)));
  const { folder, kept, session } = all;
  const full = new Writable({ write: (_bytes, _encoding, done) => done(new Error("The disk is full.")) });
  await expect(kept.exportHome(session, full, { signal })).rejects.toThrow("The disk is full.");

  writeFileSync(join(folder, readdirSync(folder)[0] ?? ""), Buffer.alloc(100, "damage"));
  await expect(kept.exportHome(session, new PassThrough().resume(), { signal })).rejects.toMatchObject({
    code: "SESSION_UNUSABLE",
  });
});
