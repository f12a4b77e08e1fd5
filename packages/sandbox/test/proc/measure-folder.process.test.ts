import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { listFolder } from "../../src/proc/list-folder.ts";
import { measureFolder, measureGrowth, measureUnlinked } from "../../src/proc/measure-folder.ts";

it("reports a partial size if the measurement takes too long", async () => {
  const path = createFolder();
  mkdirSync(join(path, "folder"));
  await using folder = await open(path);

  expect(await measureFolder({ folder }, AbortSignal.timeout(60_000))).toMatchObject({ isPartial: false });
  expect(await measureFolder({ folder }, AbortSignal.abort())).toEqual({ bytes: 0, isPartial: true });
});

it("counts the growth of a folder since a time", async () => {
  const path = createFolder();
  await using folder = await open(path);
  const sinceMs = Date.now() - 1000;
  writeFileSync(join(path, "grown"), "x".repeat(100_000));

  const growth = await measureGrowth({ folder }, sinceMs, AbortSignal.timeout(60_000));

  expect(growth).toEqual({ bytes: expect.any(Number), files: 2, isPartial: false });
  expect(growth.bytes).toBeGreaterThanOrEqual(100_000);
});

it.each(["me/code", "me/[a-c]*", "me/c\\o?de"])(
  "leaves out the folder %j, and none that is spelled like it",
  async (without) => {
    const path = createFolder();
    await using folder = await open(path);
    for (const name of [without, "me/codes", "me/b", "me/cope", `me/x/${without}`]) {
      mkdirSync(join(path, name), { recursive: true });
      writeFileSync(join(path, name, "file"), "x".repeat(100_000));
    }
    const signal = AbortSignal.timeout(60_000);

    const [all, some] = [await measureFolder({ folder }, signal), await measureFolder({ folder, without }, signal)];
    const [grown, grownElsewhere] = [
      await measureGrowth({ folder }, 0, signal),
      await measureGrowth({ folder, without }, 0, signal),
    ];

    expect([some.isPartial, grownElsewhere.isPartial]).toEqual([false, false]);
    expect(all.bytes - some.bytes).toBeGreaterThanOrEqual(100_000);
    expect(all.bytes - some.bytes).toBeLessThan(200_000);
    expect(grown.files - grownElsewhere.files).toBe(2);
  },
);

it.each([
  ["BusyBox's find, which prints no sizes", "find: unrecognized: -printf"],
  ["a folder that is unreadable to an ordinary user", "find: '/proc/self/fd/3/./closed': Permission denied"],
])("reports partial growth with %s", async (_, complaint) => {
  const path = createFolder();
  writeFileSync(join(path, "find"), `#!/bin/sh\necho "${complaint}" >&2\nexit 1\n`, { mode: 0o755 });
  await using folder = await open(path);

  const growth = await measureGrowth({ folder, programs: path }, 0, AbortSignal.timeout(60_000));

  expect(growth).toMatchObject({ isPartial: true });
});

it("runs no program that an agent left in a folder of the PATH", async () => {
  const [path, project] = [createFolder(), createFolder()];
  // So many that programs are run for them.
  for (let process = 1; process <= 40; process++) mkdirSync(join(path, `${process}/fd`), { recursive: true });
  for (const name of ["du", "find"])
    writeFileSync(join(project, name), `#!/bin/sh\n: >'${project}/ran-${name}'\n`, { mode: 0o755 });
  vi.stubEnv("PATH", `${project}:${process.env["PATH"]}`);
  onTestFinished(() => void vi.unstubAllEnvs());
  await using folder = await open(path);
  const signal = AbortSignal.timeout(60_000);

  await measureFolder({ folder }, signal);
  expect(readdirSync(project)).toEqual(["du", "find"]);
  await measureGrowth({ folder }, 0, signal);
  expect(readdirSync(project)).toEqual(["du", "find"]);
  await measureUnlinked(folder, 0, signal);
  expect(readdirSync(project)).toEqual(["du", "find"]);
  await listFolder(folder);
  expect(readdirSync(project)).toEqual(["du", "find"]);
});

function createFolder(): string {
  const path = mkdtempSync(join(tmpdir(), "budgie-measured-"));
  onTestFinished(() => rmSync(path, { recursive: true }));
  return path;
}
