import { execFileSync } from "node:child_process";
import { chmodSync, linkSync, mkdirSync, rmSync, renameSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { watchWorkspace } from "../../src/changes/watch-workspace.ts";
import { createTemporaryFolder } from "../helpers/temporary-folder.ts";

describe("watchWorkspace", () => {
  afterEach(() => void vi.useRealTimers());

  it("finds nothing if nothing changed, although all files were written a moment before", async () => {
    const workspace = createWorkspace();

    const { ready, findChanges } = watchWorkspace(workspace);
    await ready;

    expect(await findChanges()).toEqual({ paths: [], count: 0, unknown: undefined });
  });

  it.each<[string, (workspace: string) => void, readonly string[]]>([
    ["a file that was written", (at) => writeFileSync(join(at, "src/a.ts"), "new"), ["src/a.ts"]],
    ["a file that was written and set back", (at) => writeBack(join(at, "src/a.ts")), ["src/a.ts"]],
    ["a created file", (at) => writeFileSync(join(at, "src/deep/new"), ""), ["src/deep/new"]],
    ["a created folder", (at) => mkdirSync(join(at, "src/new")), ["src/new/"]],
    ["a removed file", (at) => rmSync(join(at, "src/a.ts")), ["src/"]],
    ["a file that was created and removed again", (at) => makeAndRemove(join(at, "src/deep/brief")), ["src/deep/"]],
    ["a file that was replaced by a new one", (at) => replace(join(at, "top")), ["top"]],
    ["a file in new folders", (at) => makeDeep(join(at, "new/er")), ["new/er/file"]],
    ["a file removed from the root", (at) => rmSync(join(at, "top")), ["./"]],
    ["a changed mode", (at) => chmodSync(join(at, "top"), 0o755), ["top"]],
    ["a changed name", (at) => renameSync(join(at, "top"), join(at, "src/moved")), ["./", "src/", "src/moved"]],
    ["a changed symlink", (at) => symlinkSync("/etc", join(at, "src/etc")), ["src/etc"]],
    ["a hard link", (at) => linkSync(join(at, "top"), join(at, "src/too")), ["src/", "top", "src/too"]],
    ["a replaced symlink target", (at) => turn(join(at, "out")), ["out"]],
  ])("finds %s", async (_what, change, expected) => {
    const workspace = createWorkspace();
    const { ready, findChanges } = watchWorkspace(workspace);
    await ready;

    change(workspace);

    const { paths, ...rest } = await findChanges();
    expect({ ...rest, paths: paths.toSorted() }).toEqual({
      paths: expected.toSorted(),
      count: expected.length,
      unknown: undefined,
    });
  });

  it("finds a file that is written immediately, every time", async () => {
    for (let round = 0; round < 30; round++) {
      const workspace = createWorkspace();
      const { ready, findChanges } = watchWorkspace(workspace);
      await ready;

      writeFileSync(join(workspace, "top"), "at once");

      expect(await findChanges()).toMatchObject({ paths: ["top"] });
    }
  });

  it("does not follow a symlink out of the workspace", async () => {
    const [workspace, outside] = [createWorkspace(), createTemporaryFolder()];
    symlinkSync(outside, join(workspace, "outside"));
    await sleep(30);
    const { ready, findChanges } = watchWorkspace(workspace);
    await ready;

    writeFileSync(join(outside, "new"), "");

    expect(await findChanges()).toMatchObject({ paths: [] });
  });

  it("notices that another folder took the workspace's place", async () => {
    const [workspace, other] = [createWorkspace(), createWorkspace()];
    await sleep(30);
    const { ready, findChanges } = watchWorkspace(workspace);
    await ready;

    rmSync(workspace, { recursive: true });
    symlinkSync(other, workspace);

    expect(await findChanges()).toMatchObject({ unknown: 'of "./", it cannot be read (ENOTDIR)' });
  });

  it("finds a file whose name is not UTF-8, and removes invisible characters from names", async () => {
    const workspace = createWorkspace();
    execFileSync("sh", ["-c", `printf x >"$(printf 'odd\\377')"`], { cwd: workspace });
    writeFileSync(join(workspace, "line\nbreak\u001B[31m"), "");
    await sleep(30);
    const { ready, findChanges } = watchWorkspace(workspace);
    await ready;
    expect(await findChanges()).toMatchObject({ paths: [] });

    execFileSync("sh", ["-c", `printf y >"$(printf 'odd\\377')"`], { cwd: workspace });
    writeFileSync(join(workspace, "line\nbreak\u001B[31m"), "new");
    writeFileSync(join(workspace, "n".repeat(250)), "");
    mkdirSync(join(workspace, "m".repeat(250)));
    writeFileSync(join(workspace, "m".repeat(250), "o".repeat(250)), "");

    const { paths } = await findChanges();
    expect(paths.toSorted()).toEqual([
      "line break",
      `${"m".repeat(250)}/${"o".repeat(49)}...`,
      "n".repeat(250),
      "odd\uFFFD",
    ]);
  });

  it("names at most 200 files, and counts the rest", async () => {
    const workspace = createWorkspace();
    const { ready, findChanges } = watchWorkspace(workspace);
    await ready;

    for (let index = 0; index < 250; index++) writeFileSync(join(workspace, `new-${index}`), "");

    const { count, paths } = await findChanges();
    expect({ count, named: paths.length }).toEqual({ count: 250, named: 200 });
  });

  it.each([
    [{ entries: 3, timeMs: 60_000 }, 'of "src", there is too much in it to look at'],
    [{ entries: 200_000, timeMs: 0 }, 'of "./", there was not enough time to look at all of it'],
  ])("cannot tell within the limits %j", async (bounds, unknown) => {
    const workspace = createWorkspace();
    // A walk of almost nothing would end before any time limit.
    for (let index = 0; index < 500; index++) mkdirSync(join(workspace, `src/deep/${index}`));
    await sleep(30);
    const { findChanges } = watchWorkspace(workspace, bounds);

    expect(await findChanges()).toMatchObject({ paths: [], unknown });
  });

  it("finds a file deeper than the longest possible path", async () => {
    const workspace = createWorkspace();
    const { ready, findChanges } = watchWorkspace(workspace);
    await ready;
    execFileSync("sh", ["-c", "n=$(printf '%0200d' 1); for i in $(seq 25); do mkdir $n; cd -P ./$n; done"], {
      cwd: workspace,
    });
    onTestFinished(() => void execFileSync("rm", ["-rf", workspace]));

    // Each folder but the last has a new folder in it.
    expect(await findChanges()).toEqual({
      paths: [`${"0".repeat(199)}1/${"0".repeat(99)}...`],
      count: 1,
      unknown: undefined,
    });
  });

  it("reports that changes below the deepest level are unknown", async () => {
    const workspace = createWorkspace();
    mkdirSync(join(workspace, "d/".repeat(70)), { recursive: true });
    await sleep(30);
    const { findChanges } = watchWorkspace(workspace);

    expect(await findChanges()).toMatchObject({
      paths: [],
      unknown: expect.stringContaining("more than 64 folders deep"),
    });
  });

  it("cannot tell on a file system whose clock may be another machine's", async () => {
    const { findChanges } = watchWorkspace("/proc/sys/kernel");

    expect(await findChanges()).toMatchObject({ unknown: 'of "./", its file system may have another clock' });
  });

  it("reports that the changes of a removed workspace are unknown", async () => {
    const { findChanges } = watchWorkspace("/nowhere/at/all");

    expect(await findChanges()).toMatchObject({ unknown: 'of "./", it cannot be read (ENOENT)' });
  });

  it("cannot tell when the clock was set back, but tolerates one that is a little slow", async () => {
    const workspace = createWorkspace();
    await sleep(30);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 500 });
    const slow = watchWorkspace(workspace);
    vi.setSystemTime(Date.now() + 3_600_000);
    const far = watchWorkspace(workspace);
    vi.useRealTimers();
    await sleep(40);

    writeFileSync(join(workspace, "top"), "new");

    expect(await slow.findChanges()).toMatchObject({ paths: expect.arrayContaining(["top"]), unknown: undefined });
    expect(await far.findChanges()).toEqual({
      paths: [],
      count: 0,
      unknown: "the clock of this machine was set back meanwhile",
    });
  });

  it("finds files written after the clock was set ahead", async () => {
    const workspace = createWorkspace();
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() - 3_600_000 });
    const { findChanges } = watchWorkspace(workspace);
    vi.useRealTimers();
    writeFileSync(join(workspace, "top"), "new");

    expect(await findChanges()).toMatchObject({ paths: expect.arrayContaining(["top"]) });
  });
});

function createWorkspace(): string {
  const workspace = createTemporaryFolder();
  mkdirSync(join(workspace, "src/deep"), { recursive: true });
  writeFileSync(join(workspace, "src/a.ts"), "old");
  writeFileSync(join(workspace, "top"), "old");
  symlinkSync("src", join(workspace, "out"));
  return workspace;
}

/** Changes a file like a program that hides its changes. */
function writeBack(file: string): void {
  writeFileSync(file, "evil");
  writeFileSync(file, "old");
  utimesSync(file, 0, 0);
}

function makeAndRemove(file: string): void {
  writeFileSync(file, "");
  rmSync(file);
}

function replace(file: string): void {
  writeFileSync(`${file}.new`, "new");
  renameSync(`${file}.new`, file);
}

function makeDeep(folder: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "file"), "");
}

function turn(link: string): void {
  rmSync(link);
  symlinkSync("/etc", link);
}
