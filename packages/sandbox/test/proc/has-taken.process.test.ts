import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, symlinkSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { hasTaken } from "../../src/proc/has-taken.ts";
import { writeInto } from "./fill-disk.ts";

const MIB = 2 ** 20;

it("a turn has taken what its unlinked open files hold, as much as what its folders do", async () => {
  const path = mkdtempSync(join(tmpdir(), "budgie-taken-"));
  onTestFinished(() => rmSync(path, { recursive: true }));
  for (const name of ["home", "workspace", "proc/1/fd"]) mkdirSync(join(path, name), { recursive: true });
  const file = join(path, "workspace/unlinked");
  writeInto(file, 8);
  const held = openSync(file, "r");
  onTestFinished(() => closeSync(held));
  rmSync(file);
  // A descriptor of a process in the container.
  symlinkSync(`/proc/${process.pid}/fd/${held}`, join(path, "proc/1/fd/9"));
  const [home, workspace, proc] = await Promise.all(
    ["home", "workspace", "proc"].map((name) => open(join(path, name))),
  );
  if (home === undefined || workspace === undefined) throw new Error("It is not open.");
  onTestFinished(async () => void (await Promise.all([home, workspace, proc].map((one) => one?.close()))));
  const taking = { free: { bytes: 16 * MIB, files: 1e6 }, sinceMs: Date.now() };
  const { signal } = new AbortController();

  expect(await hasTaken({ home, workspace, proc }, { ...taking, share: 1 / 4 }, signal)).toBe(true);
  expect(await hasTaken({ home, workspace, proc }, { ...taking, share: 3 / 4 }, signal)).toBe(false);
  expect(await hasTaken({ home, workspace, proc: undefined }, { ...taking, share: 1 / 4 }, signal)).toBe(false);
});
