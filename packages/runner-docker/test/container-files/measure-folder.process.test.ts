import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { measureFolder, measureGrowth } from "../../src/container-files/measure-folder.ts";

it("reports a partial size if the measurement takes too long", async () => {
  const path = createFolder();
  mkdirSync(join(path, "folder"));
  await using folder = await open(path);

  expect(await measureFolder(folder, AbortSignal.timeout(60_000))).toMatchObject({ isPartial: false });
  expect(await measureFolder(folder, AbortSignal.abort())).toEqual({ bytes: 0, isPartial: true });
});

it("counts the growth of a folder since a time", async () => {
  const path = createFolder();
  await using folder = await open(path);
  const sinceMs = Date.now() - 1000;
  writeFileSync(join(path, "grown"), "x".repeat(100_000));

  const growth = await measureGrowth(folder, sinceMs, AbortSignal.timeout(60_000));

  expect(growth).toEqual({ bytes: expect.any(Number), files: 2, isPartial: false });
  expect(growth.bytes).toBeGreaterThanOrEqual(100_000);
});

it.each([
  ["BusyBox's find, which prints no sizes", "find: unrecognized: -printf"],
  ["a folder that is unreadable to an ordinary user", "find: '/proc/self/fd/3/./closed': Permission denied"],
])("reports partial growth with %s", async (_, complaint) => {
  const path = createFolder();
  writeFileSync(join(path, "find"), `#!/bin/sh\necho "${complaint}" >&2\nexit 1\n`, { mode: 0o755 });
  await using folder = await open(path);
  vi.stubEnv("PATH", path);
  onTestFinished(() => void vi.unstubAllEnvs());

  expect(await measureGrowth(folder, 0, AbortSignal.timeout(60_000))).toMatchObject({ isPartial: true });
});

function createFolder(): string {
  const path = mkdtempSync(join(tmpdir(), "budgie-measured-"));
  onTestFinished(() => rmSync(path, { recursive: true }));
  return path;
}
