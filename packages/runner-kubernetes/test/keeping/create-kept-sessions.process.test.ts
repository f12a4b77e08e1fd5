import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ANY_AGE, WITHOUT_POD, beginKept, openKeptPod } from "./begin-kept.ts";

/** Prints all of a folder but the times of folders and links. */
function look(folder: string): string {
  const find = [
    "find",
    ".",
    "-mindepth",
    "1",
    "(",
    "-type",
    "f",
    "-printf",
    "%p %m %T@ f ",
    "-exec",
    "md5sum",
    "{}",
    ";",
  ];
  const others = [")", "-o", "-printf", "%p %m %y %l\\n"];
  return execFileSync("sh", ["-c", 'cd "$0" && "$@" | sort', folder, ...find, ...others], { encoding: "utf8" });
}

function fillHome(home: string): void {
  mkdirSync(join(home, "closed/deeper"), { recursive: true });
  writeFileSync(join(home, "closed/deeper/file"), "content", { mode: 0o600 });
  utimesSync(join(home, "closed/deeper/file"), 1_000_000, 1_000_000);
  symlinkSync("/etc/passwd", join(home, "link"));
  writeFileSync(Buffer.concat([Buffer.from(`${home}/`), Buffer.of(0xff, 0xfe)]), "no text for a name");
  utimesSync(Buffer.concat([Buffer.from(`${home}/`), Buffer.of(0xff, 0xfe)]), 2_000_000, 2_000_000);
  chmodSync(join(home, "closed/deeper"), 0o555);
  chmodSync(join(home, "closed"), 0o2055);
}

it("a session moves to another Pod, and to another budgie once its own has died", async () => {
  await using all = await beginKept();
  const { folder, kept, other, others, owner, packing, session } = all;
  const one = await openKeptPod();
  await using _one = one.running;
  fillHome(one.roots.home);
  const before = look(one.roots.home);
  execFileSync("mkfifo", [join(one.roots.home, "pipe")]);
  writeFileSync(join(one.roots.tree, "file"), "in the copy");
  utimesSync(join(one.roots.tree, "file"), 3_000_000, 3_000_000);

  await kept.pack(one.pod, packing);
  expect((await kept.list()).map(({ home, id, owner: state }) => [id, home, state])).toEqual([
    [session, folder, "own"],
  ]);
  await expect(others.take(session, WITHOUT_POD)).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
  await owner.release();
  expect((await others.list()).map(({ owner: state }) => state)).toEqual(["dead"]);
  expect(await others.take(session, WITHOUT_POD)).toEqual({ isPacked: true, fillId: "fill" });
  expect((await kept.list()).map(({ owner: state }) => state)).toEqual(["live"]);
  expect(await other.stateOf(other.record, "state-directory")).toBe("own");

  const two = await openKeptPod();
  await using _two = two.running;
  writeFileSync(join(two.roots.home, "image"), "of the image");
  await others.restore(two.pod, session);
  expect(look(two.roots.home)).toBe(before);
  expect(look(two.roots.tree)).toBe(look(one.roots.tree));
});

it("files are for their own user only, and those before are gone", async () => {
  await using all = await beginKept();
  const { folder, kept, packing, record } = all;
  const { pod, running } = await openKeptPod();
  await using _running = running;
  process.umask(0);
  try {
    await kept.pack(pod, packing);
    await kept.pack(pod, packing);
    await kept.pack(pod, { ...packing, fillId: undefined });
  } finally {
    process.umask(0o022);
  }

  expect(readdirSync(folder)).toEqual([expect.stringMatching(/^home-/)]);
  const modes = [folder, join(folder, readdirSync(folder)[0] ?? ""), record].map((path) => statSync(path).mode & 0o777);
  expect(modes).toEqual([0o700, 0o600, 0o600]);
  expect(await kept.take(packing.session, WITHOUT_POD)).toEqual({ isPacked: true, fillId: undefined });
});

it("a Pod that has more than its limits is cut, and what was packed before stays", async () => {
  await using all = await beginKept();
  const { folder, kept, packing, record, session } = all;
  const { pod, roots, running } = await openKeptPod();
  await using _running = running;
  writeFileSync(join(roots.home, "file"), "first");
  await kept.pack(pod, packing);
  const files = readdirSync(folder);
  const text = readFileSync(record, "utf8");

  // Files with holes take no room on a disk, and each is read to its end.
  execFileSync("truncate", ["-s", "1T", join(roots.home, "hole")]);
  const small = { ...packing, limits: { homeBytes: 2 ** 20, copyBytes: 2 ** 20 } };
  await expect(kept.pack(pod, small)).rejects.toMatchObject({ code: "DISK_LIMIT" });
  expect(readdirSync(folder)).toEqual(files);
  expect(readFileSync(record, "utf8")).toBe(text);
  const over = AbortSignal.abort(new Error("It takes too long."));
  await expect(kept.pack(pod, { ...packing, signal: over })).rejects.toThrow("It takes too long.");

  const next = await openKeptPod();
  await using _next = next.running;
  await kept.restore(next.pod, session);
  expect(readFileSync(join(next.roots.home, "file"), "utf8")).toBe("first");
  expect(existsSync(join(next.roots.home, "hole"))).toBe(false);
});

it.each([
  ["is shorter", (path: string) => writeFileSync(path, readFileSync(path).subarray(0, -1)), "SESSION_NOT_FOUND"],
  ["is longer", (path: string) => appendFileSync(path, "more"), "SESSION_NOT_FOUND"],
  ["has other bytes", (path: string) => writeFileSync(path, readFileSync(path).fill(0, 40, 41)), undefined],
  ["is a link", (path: string) => (rmSync(path), symlinkSync("/etc/passwd", path)), "SESSION_NOT_FOUND"],
  ["is gone", (path: string) => rmSync(path), "SESSION_NOT_FOUND"],
])("a session with a file that %s is not restored", async (_why, damage, code) => {
  await using all = await beginKept();
  const { folder, kept, packing, session } = all;
  const { pod, roots, running } = await openKeptPod();
  await using _running = running;
  writeFileSync(join(roots.home, "file"), "content");
  await kept.pack(pod, { ...packing, fillId: undefined });
  damage(join(folder, readdirSync(folder)[0] ?? ""));

  const taken = kept.take(session, WITHOUT_POD);
  if (code === undefined) await taken;
  else await expect(taken).rejects.toMatchObject({ code });
  await expect(kept.restore(pod, session)).rejects.toMatchObject({ code: "SESSION_UNUSABLE" });
});

it("a session that was changed after it was packed is resumed in its Pod only, until it is packed again", async () => {
  await using all = await beginKept();
  const { kept, others, owner, packing, session } = all;
  const { pod, running } = await openKeptPod();
  await using _running = running;
  await kept.begin(session, 1);
  await kept.markStale(session);
  await kept.pack(pod, packing);
  expect(await kept.take(session, WITHOUT_POD)).toEqual({ isPacked: true, fillId: "fill" });

  await kept.markStale(session);
  await kept.markStale(session);
  expect(await kept.list()).toHaveLength(1);
  await owner.release();
  await expect(others.take(session, WITHOUT_POD)).rejects.toThrow(/was lost with its Pod/);
  expect((await others.list()).map(({ owner: state }) => state)).toEqual(["dead"]);
  const adopted = await others.take(session, { keepMs: 1, adopt: async () => true });
  expect(adopted).toEqual({ isPacked: false, fillId: undefined });
  expect((await others.list()).map(({ owner: state }) => state)).toEqual(["own"]);
});

it("a session that was lost with its Pod is removed, and one that never had a Pod can be resumed", async () => {
  await using all = await beginKept();
  const { kept, others, owner, session } = all;
  await kept.begin(session, 3_600_000);
  await expect(others.begin(session, 1)).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
  await owner.release();
  expect(await others.take(session, WITHOUT_POD)).toEqual({ isPacked: false, fillId: undefined });

  await others.markStale(session);
  await all.other.release();
  expect(await kept.collectGarbage(ANY_AGE)).toMatchObject({ failed: [] });
});

it("a copy is not packed while a process may change it", async () => {
  await using all = await beginKept();
  const { folder, kept, packing } = all;
  const { budgie, hold, pod, running } = await openKeptPod();
  await using _running = running;
  budgie.startTurn();
  await hold.hear("S");

  await expect(kept.pack(pod, packing)).rejects.toMatchObject({ code: "RUNNER_UNAVAILABLE" });
  expect(readdirSync(folder)).toEqual([]);
});
