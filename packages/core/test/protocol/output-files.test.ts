import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createOutputFiles, type OutputFiles } from "@budgie/core/protocol";

let stateDir: string;
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), "budgie-output-"));
});
afterEach(() => {
  rmSync(stateDir, { recursive: true });
});

describe("createOutputFiles", () => {
  it("writes files that only this user can read", async () => {
    const path = await write(createOutputFiles({ stateDir }), "an output");

    expect(readFileSync(path ?? "", "utf8")).toBe("an output");
    expect(statSync(path ?? "").mode & 0o777).toBe(0o600);
    expect(statSync(join(stateDir, "outputs")).mode & 0o777).toBe(0o700);
  });

  it("creates nothing before the first write", async () => {
    expect(await createOutputFiles({ stateDir }).open().close()).toBeUndefined();
    expect(readdirSync(stateDir)).toEqual([]);
  });

  it("drops bytes beyond the limit of a file", async () => {
    const path = await write(createOutputFiles({ stateDir, maxFileBytes: 10 }), "01234", "56789", "more");

    expect(readFileSync(path ?? "", "utf8")).toBe("0123456789");
  });

  it("removes the oldest beyond the limit of all files", async () => {
    const files = createOutputFiles({ stateDir, maxFileBytes: 100, maxTotalBytes: 250 });
    const paths: string[] = [];
    for (const age of [3, 2, 1]) {
      const path = (await write(files, "x".repeat(100))) ?? "";
      utimesSync(path, Date.now() / 1000 - age, Date.now() / 1000 - age);
      paths.push(path);
    }

    expect(paths.map((path) => existsSync(path))).toEqual([false, true, true]);
  });

  it("removes files without a recent write, on request and with each new file", async () => {
    const files = createOutputFiles({ stateDir, maxAgeMs: 60_000 });
    const age = async (): Promise<string> => {
      const path = (await write(files, "an output")) ?? "";
      utimesSync(path, Date.now() / 1000 - 61, Date.now() / 1000 - 61);
      return path;
    };
    const young = (await write(files, "an output")) ?? "";

    const first = await age();
    files.prune();
    const afterPruning = existsSync(first);
    const second = await age();
    const next = (await write(files, "an output")) ?? "";

    expect([afterPruning, existsSync(second), existsSync(young), existsSync(next)]).toEqual([false, false, true, true]);
  });

  it("removes nothing where nothing was written", () => {
    createOutputFiles({ stateDir, maxAgeMs: 0 }).prune();

    expect(readdirSync(stateDir)).toEqual([]);
  });

  it("leaves no file and reports it if one cannot be created", async () => {
    writeFileSync(join(stateDir, "outputs"), "in the way");

    expect(await write(createOutputFiles({ stateDir }), "an output", "and more")).toBeUndefined();
  });
});

async function write(files: OutputFiles, ...pieces: readonly string[]): Promise<string | undefined> {
  const file = files.open();
  for (const piece of pieces) await file.write(Buffer.from(piece));
  return file.close();
}
