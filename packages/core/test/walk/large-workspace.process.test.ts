import { spawnSync } from "node:child_process";
import { linkSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { compileCore } from "../helpers/compile-core.ts";
import { createTemporaryFolder } from "../helpers/temporary-folder.ts";

// A process with little memory and few descriptors, which measures how long its event loop was blocked.
const PROGRAM = `
  import { monitorEventLoopDelay } from "node:perf_hooks";
  const [core, workspace] = process.argv.slice(1);
  const { watchExecutablePaths } = await import(core + "/changes/watch-executable-paths.js");
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const watch = watchExecutablePaths(workspace);
  await watch.ready;
  await watch.findChanges();
  console.log(JSON.stringify({ delayMs: delay.max / 1e6, wholeMs: performance.now() }));
`;
const MEMORY = "--max-old-space-size=64";
const DESCRIPTORS = 100;

describe("a folder with very many files", () => {
  it("takes little memory, few descriptors, and blocks others only briefly", { timeout: 120_000 }, () => {
    const workspace = createTemporaryFolder();
    fill(join(workspace, ".vscode"));
    const node = [process.execPath, MEMORY, "--input-type=module", "-e", PROGRAM, compileCore(), workspace];

    const { stdout, stderr } = spawnSync("sh", ["-c", `ulimit -n ${DESCRIPTORS}; exec "$@"`, "sh", ...node], {
      encoding: "utf8",
      stdio: "pipe",
    });

    expect(stderr).toBe("");
    const { delayMs, wholeMs } = JSON.parse(stdout) as { readonly delayMs: number; readonly wholeMs: number };
    expect(delayMs / wholeMs).toBeLessThan(1 / 4);
  });
});

/** Creates hard links to a few files, which is faster than creating files. */
function fill(folder: string): void {
  mkdirSync(folder);
  for (let index = 0; index < 20_000; index++) {
    const file = join(folder, `${index}`);
    if (index % 10_000 === 0) writeFileSync(file, "x");
    else linkSync(join(folder, `${index - (index % 10_000)}`), file);
  }
}
