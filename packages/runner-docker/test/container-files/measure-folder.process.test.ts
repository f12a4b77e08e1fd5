import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { measureFolder } from "../../src/container-files/measure-folder.ts";

it("reports a partial size if the measurement takes too long", async () => {
  const path = mkdtempSync(join(tmpdir(), "budgie-measured-"));
  onTestFinished(() => rmSync(path, { recursive: true }));
  mkdirSync(join(path, "folder"));
  await using folder = await open(path);

  expect(await measureFolder(folder, AbortSignal.timeout(60_000))).toMatchObject({ isPartial: false });
  expect(await measureFolder(folder, AbortSignal.abort())).toEqual({ bytes: 0, isPartial: true });
});
