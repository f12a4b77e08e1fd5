import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { readClientEnvironment } from "../../src/process/read-client-environment.ts";

/** Processes by their ids: the parent's id, and the command line */
type Table = Readonly<Record<number, readonly [parent: number, ...words: string[]]>>;

function read(table: Table, pid: number) {
  const procDir = mkdtempSync(join(tmpdir(), "budgie-proc-"));
  onTestFinished(() => rmSync(procDir, { recursive: true }));
  for (const [id, [parent, ...words]] of Object.entries(table)) {
    mkdirSync(join(procDir, id));
    const files = {
      status: `Name:\tx\nPPid:\t${parent}\n`,
      cmdline: `${words.join("\0")}\0`,
      environ: `OF=${id}\0EMPTY=\0TEXT=a=b\nc\0`,
    };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(procDir, id, name), text);
  }
  return readClientEnvironment(pid, procDir);
}

describe("readClientEnvironment", () => {
  it("returns the environment that the client was started with", () => {
    expect(read({ 9: [1, "/usr/bin/claude"] }, 9)).toEqual({ OF: "9", EMPTY: "", TEXT: "a=b\nc" });
  });

  it.each([
    ["npm exec budgie-mcp@1"],
    ["node", "/usr/bin/npx", "-y", "budgie-mcp"],
    ["/usr/bin/node", "/usr/lib/node_modules/npm/bin/npx-cli.js", "budgie-mcp"],
    ["pnpm", "dlx", "budgie-mcp"],
    ["bunx", "budgie-mcp"],
    ["sh", "-c", "budgie-mcp"],
  ])("looks beyond the launcher %j", (...words) => {
    expect(read({ 7: [1, "Code"], 8: [7, ...words], 9: [8, "sh", "-c", "budgie"] }, 9)).toMatchObject({ OF: "7" });
  });

  it.each([[["-bash"]], [["/bin/zsh", "-l"]], [["sh", "start.sh"]], [["fish"]]])(
    "does not know that of a user of the shell %j, who exports variables in it",
    (words) => {
      expect(read({ 8: [1, ...words], 9: [8, "npm exec budgie-mcp"] }, 9)).toBeUndefined();
    },
  );

  it("knows nothing without /proc, of process 1, and of a process that is gone", () => {
    expect(readClientEnvironment(9, "/no/such/folder")).toBeUndefined();
    expect(read({ 1: [0, "systemd"] }, 1)).toBeUndefined();
    expect(read({ 9: [8, "npx"] }, 9)).toBeUndefined();
  });
});
