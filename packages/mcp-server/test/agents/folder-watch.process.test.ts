import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync, type watch } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createFolderWatch, type FolderWatch } from "../../src/agents/folder-watch.ts";
import { waitFor } from "../helpers/start-budgie.ts";

describe("createFolderWatch", () => {
  let folder: string;
  let running: FolderWatch | undefined;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "budgie-watch-"));
    mkdirSync(join(folder, "agents"));
  });
  afterEach(() => {
    running?.close();
    rmSync(folder, { recursive: true });
  });

  type Start = { readonly watchFolder?: typeof watch; readonly hasChanged?: () => boolean };

  function start({ hasChanged = () => false, ...options }: Start = {}) {
    const seen = { changes: 0, lines: [] as string[] };
    const created = createFolderWatch({
      folders: [{ path: join(folder, "agents"), ending: ".json" }],
      hasChanged,
      onChange: () => void seen.changes++,
      report: (line) => void seen.lines.push(line),
      ...options,
    });
    created.start();
    running = created;
    return seen;
  }

  const pause = (ms: number): Promise<void> => new Promise((wake) => setTimeout(wake, ms));

  it("tells of files whose names end as they must, and of no others", async () => {
    const seen = start();
    await pause(800);

    writeFileSync(join(folder, "agents", "notes.txt"), "");
    writeFileSync(join(folder, "beside.json"), "");
    await pause(800);
    expect(seen.changes).toBe(0);

    writeFileSync(join(folder, "agents", "a.json"), "");
    await waitFor(() => seen.changes === 1);
  });

  it("looks out for what is in a folder that took the place of another", async () => {
    const seen = start();
    await pause(800);

    renameSync(join(folder, "agents"), join(folder, "old"));
    mkdirSync(join(folder, "agents"));
    await waitFor(() => seen.changes === 1);
    writeFileSync(join(folder, "agents", "a.json"), "");
    await waitFor(() => seen.changes === 2, 5_000);
  });

  it("tells of a folder in which something is always written all the same", async () => {
    const seen = start();
    await pause(800);
    const writing = setInterval(() => writeFileSync(join(folder, "agents", "a.json"), String(Math.random())), 50);

    await waitFor(() => seen.changes > 0);
    clearInterval(writing);
  });

  it("tells nothing after it was closed", async () => {
    const seen = start();
    await pause(800);

    writeFileSync(join(folder, "agents", "a.json"), "");
    running?.close();
    await pause(800);

    expect(seen.changes).toBe(0);
  });

  it("looks from time to time where it cannot watch, and says so once", async () => {
    let isChanged = false;
    const seen = start({
      hasChanged: () => isChanged,
      watchFolder: () => {
        throw Object.assign(new Error("no space left"), { code: "ENOSPC" });
      },
    });
    await pause(800);

    isChanged = true;
    await waitFor(() => seen.changes > 0);

    expect(seen.lines).toEqual([expect.stringMatching(/^Cannot watch the folder .* \(ENOSPC\)/)]);
  });

  it("keeps no process alive", async () => {
    const source = fileURLToPath(new URL("../../dist/agents/folder-watch.js", import.meta.url));
    const program = `
      const { createFolderWatch } = await import(${JSON.stringify(source)});
      const folders = [{ path: ${JSON.stringify(folder)}, ending: ".json" }];
      createFolderWatch({ folders, hasChanged: () => false, onChange() {}, report() {} }).start();
      setTimeout(() => console.log("watched"), 1_000);
    `;
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program], {
      timeout: 20_000,
    });

    expect(stdout).toBe("watched\n");
  });
});
