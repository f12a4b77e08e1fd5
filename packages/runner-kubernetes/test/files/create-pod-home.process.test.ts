import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createHomeFiles, type ArchiveEntry } from "@budgie/sandbox/home";
import { createPodHome } from "../../src/files/create-pod-home.ts";
import { beginHome } from "../helpers/begin-home.ts";

let outside: string;
beforeEach(() => void (outside = mkdtempSync(join(tmpdir(), "budgie-outside-"))));
afterEach(() => rmSync(outside, { recursive: true }));

const toFile = (path: string, text: string): ArchiveEntry => ({ path, content: Buffer.from(text), mode: 0o600 });

it("files, folders and files of the host arrive in the home, and in /auth, with their modes", async () => {
  await using place = await beginHome();
  const { home, roots } = place;
  const large = join(outside, "large");
  writeFileSync(large, Buffer.alloc(3_000_000, "large"));

  await home.create([
    toFile("/home/agent/.codex/auth.json", "token"),
    toFile("/home/agent/.codex/empty", ""),
    { path: "/home/agent/.kiro", content: "folder" },
    { path: "/home/agent/large", content: { path: large, bytes: 3_000_000 }, mode: 0o600 },
    { path: "/auth/login", content: Buffer.from("login"), mode: 0o400 },
  ]);
  await home.write([{ path: "/auth/login", content: Buffer.from("renewed"), mode: 0o400 }]);

  expect(readFileSync(join(roots.home, ".codex/auth.json"), "utf8")).toBe("token");
  expect(readFileSync(join(roots.home, ".codex/empty"), "utf8")).toBe("");
  expect(readFileSync(join(roots.home, "large")).equals(readFileSync(large))).toBe(true);
  expect(readFileSync(join(roots.auth, "login"), "utf8")).toBe("renewed");
  const modes = [".codex", ".codex/auth.json", ".kiro"].map((path) => statSync(join(roots.home, path)).mode & 0o777);
  expect([...modes, statSync(join(roots.auth, "login")).mode & 0o777]).toEqual([0o700, 0o600, 0o700, 0o400]);
});

it("nothing to write costs no round trip", async () => {
  const home = createPodHome(() => Promise.reject(new Error("There is no Pod.")));

  await home.create([]);
  await home.write([]);
  await home.checkMountPoints(["/home/agent/.kiro/agents"]);
});

it("/auth stays after a turn, and is in nothing that is packed", async () => {
  await using place = await beginHome();
  await place.home.write([toFile("/auth/login", "login")]);

  await place.runTurn();

  expect(readFileSync(join(place.roots.auth, "login"), "utf8")).toBe("login");
  expect((await place.ask({ purpose: "file", act: "pack", volume: "home" })).bytes.includes("login")).toBe(false);
});

it.each([".local", ".local/share", ".local/share/kiro-cli"])("a link at %s leads nowhere", async (place) => {
  await using begun = await beginHome();
  const { home, roots } = begun;
  writeFileSync(join(outside, "data"), "outside");
  mkdirSync(join(roots.home, dirname(place)), { recursive: true });
  symlinkSync(outside, join(roots.home, place));
  const folder = "/home/agent/.local/share/kiro-cli";
  const to = join(outside, "saved");
  mkdirSync(to);

  await expect(home.write([toFile(`${folder}/data`, "new")])).rejects.toMatchObject({ code: "SESSION_UNUSABLE" });
  await expect(home.saveFiles(folder, ["data"], { to, maxBytes: 100 })).rejects.toMatchObject({
    code: "SESSION_UNUSABLE",
    message: expect.stringContaining(folder),
  });
  expect(await home.readFile(".local/share/kiro-cli/data", 100)).toBeUndefined();
  expect(readFileSync(join(outside, "data"), "utf8")).toBe("outside");
  expect(readdirSync(to)).toEqual([]);
});

it("only regular files are saved, for their owner alone", async () => {
  await using place = await beginHome();
  const { home, roots } = place;
  const folder = join(roots.home, "data");
  mkdirSync(join(folder, "folder"), { recursive: true });
  writeFileSync(join(folder, "one"), "first", { mode: 0o666 });
  writeFileSync(join(folder, "empty"), "");
  execFileSync("mkfifo", [join(folder, "pipe")]);
  symlinkSync("one", join(folder, "link"));

  const names = ["one", "empty", "pipe", "link", "folder", "none"];
  const saved = await home.saveFiles("/home/agent/data", names, { to: outside, maxBytes: 5 });

  expect([...saved]).toEqual(["one", "empty"]);
  expect(readdirSync(outside).toSorted()).toEqual(["empty", "one"]);
  expect(readFileSync(join(outside, "one"), "utf8")).toBe("first");
  expect(statSync(join(outside, "one")).mode & 0o777).toBe(0o600);
});

it("files that are too large together are not kept, and a file of the host stays", async () => {
  await using place = await beginHome();
  const { home, roots } = place;
  mkdirSync(join(roots.home, "data"));
  writeFileSync(join(roots.home, "data/one"), "0123456789");
  writeFileSync(join(roots.home, "data/two"), "");
  truncateSync(join(roots.home, "data/two"), 2 ** 40);
  writeFileSync(join(outside, "three"), "the host's");

  await expect(
    home.saveFiles("/home/agent/data", ["one", "two"], { to: outside, maxBytes: 2 ** 20 }),
  ).rejects.toMatchObject({ code: "SESSION_UNUSABLE", message: expect.stringContaining("1 MiB") });
  writeFileSync(join(roots.home, "data/three"), "other");
  await expect(
    home.saveFiles("/home/agent/data", ["one", "three"], { to: outside, maxBytes: 2 ** 20 }),
  ).rejects.toMatchObject({ code: "EEXIST" });

  expect(readdirSync(outside)).toEqual(["three"]);
  expect(readFileSync(join(outside, "three"), "utf8")).toBe("the host's");
});

it("budgie's own files are read and appended to, of a huge one only the beginning is read", async () => {
  await using place = await beginHome();
  const files = createHomeFiles(place.home);
  writeFileSync(join(place.roots.home, "huge"), "");
  truncateSync(join(place.roots.home, "huge"), 2 ** 40);
  symlinkSync(outside, join(place.roots.home, "out"));
  mkdirSync(join(place.roots.home, "folder"));

  await files.append("notes/said", "one ");
  await files.append("notes/said", "two");

  expect(await files.read("notes/said")).toBe("one two");
  expect((await files.read("huge"))?.length).toBe(4 * 2 ** 20);
  for (const path of ["none", "folder", "out", "out/x"]) expect(await files.read(path)).toBeUndefined();
  for (const path of ["out/x", "folder"])
    await expect(files.append(path, "x")).rejects.toMatchObject({ code: "SESSION_UNUSABLE" });
  await expect(files.read("../x")).rejects.toMatchObject({ code: "SESSION_UNUSABLE" });
  expect(existsSync(join(outside, "x"))).toBe(false);
});

it("a file of the host that has changed its size is not written, and the home keeps what it had", async () => {
  await using place = await beginHome();
  writeFileSync(join(outside, "shrunk"), "short");
  await place.home.write([toFile("/home/agent/data", "before")]);
  const content = { path: join(outside, "shrunk"), bytes: 100 };

  await expect(place.home.write([{ path: "/home/agent/data", content, mode: 0o600 }])).rejects.toThrow("another size");
  await expect(
    place.home.write([{ path: "/home/agent/data", content: { ...content, path: join(outside, "none") }, mode: 0o600 }]),
  ).rejects.toThrow("ENOENT");

  await expect.poll(() => readdirSync(place.roots.home)).toEqual(["data"]);
  expect(readFileSync(join(place.roots.home, "data"), "utf8")).toBe("before");
});
