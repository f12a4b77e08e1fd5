import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createDiffer } from "../../src/diffs/differ.ts";
import { showChanges } from "@budgie/copies/diffs";
import { collectWith, createWorld, writeFiles } from "../helpers/create-world.ts";

describe("a set is shown", () => {
  it("as unified diffs, with what needs care", async () => {
    const world = createWorld({ "a.txt": "one\ntwo\n", "gone.txt": "old\n", l: "file\n" });
    writeFiles(world.copy, { "a.txt": "one\nTWO\n", "AGENTS.md": "obey\n", "image.png": "\0\u0001" });
    rmSync(join(world.copy, "gone.txt"));
    rmSync(join(world.copy, "l"));
    symlinkSync("/etc", join(world.copy, "l"));
    const { set } = await world.collect();

    const { isWhole, pages } = await showChanges(set, world.sets);

    expect(isWhole).toBe(true);
    expect(pages.join("")).toBe(
      [
        "added AGENTS.md",
        "  guarded: the host runs or obeys it, so only a person applies it",
        "--- /dev/null",
        "+++ b/AGENTS.md",
        "@@ -0,0 +1,1 @@",
        "+obey",
        "changed a.txt",
        "--- a/a.txt",
        "+++ b/a.txt",
        "@@ -1,2 +1,2 @@",
        " one",
        "-two",
        "+TWO",
        "removed gone.txt",
        "--- a/gone.txt",
        "+++ /dev/null",
        "@@ -1,1 +0,0 @@",
        "-old",
        "added image.png",
        "  content not shown, since it is binary: no file to 2 bytes (sha256 b413f47d13ee2fe6)",
        "changed l",
        "  guarded: the host runs or obeys it, so only a person applies it",
        "  was a file, now a symlink to /etc",
        "--- a/l",
        "+++ /dev/null",
        "@@ -1,1 +0,0 @@",
        "-file",
        "",
      ].join("\n"),
    );
  });

  it("with a change of mode, link target, kind or case alone", async () => {
    const world = createWorld({ "run.sh": "echo\n", kind: "x\n", Case: "same\n" });
    symlinkSync("kind", join(world.directory, "link"));
    const base = { entries: [...world.base.entries, { path: "link", kind: "link", target: "kind" } as const] };
    chmodSync(join(world.copy, "run.sh"), 0o755);
    symlinkSync("run.sh", join(world.copy, "link"));
    rmSync(join(world.copy, "kind"));
    mkdirSync(join(world.copy, "kind"));
    renameSync(join(world.copy, "Case"), join(world.copy, "case"));
    const set = await collectWith({ ...world, base }, []);

    const { pages } = await showChanges(set, world.sets);

    const facts = pages
      .join("")
      .split("\n")
      .filter((line) => /^[a-z]|^ {2}/.test(line));
    expect(facts).toEqual([
      "removed Case",
      "  note: another changed path differs from it in case only",
      "added case",
      "  note: another changed path differs from it in case only",
      "changed kind",
      "  was a file, now a folder",
      "changed link",
      "  was a symlink to kind, now a symlink to run.sh",
      "changed run.sh",
      "  was a file, now an executable file",
    ]);
  });

  it("with hostile names and texts escaped, on a line each", async () => {
    const world = createWorld({});
    writeFiles(world.copy, { "new\nline\u001b[31m\u202e.txt": "\u001b[2J\u202eevil\u200b\r\n" });
    writeFileSync(join(world.copy, "bytes"), Buffer.from([0x61, 0xff, 0xc3, 0xa9, 0x0a]));
    const { set } = await world.collect();

    const { pages } = await showChanges(set, world.sets);

    expect(pages.join("").split("\n")).toEqual([
      "added bytes",
      "--- /dev/null",
      "+++ b/bytes",
      "@@ -0,0 +1,1 @@",
      "+a\\xffé",
      "added new\\u{a}line\\u{1b}[31m\\u{202e}.txt",
      "--- /dev/null",
      "+++ b/new\\u{a}line\\u{1b}[31m\\u{202e}.txt",
      "@@ -0,0 +1,1 @@",
      "+\\u{1b}[2J\\u{202e}evil\\u{200b}\\u{d}",
      "",
    ]);
  });

  it("in pages of 32 KiB, with long lines cut", async () => {
    const world = createWorld({});
    writeFiles(world.copy, { "long.txt": "é".repeat(100_000) });
    const { set } = await world.collect();

    const { pages } = await showChanges(set, world.sets);

    expect(pages.length).toBeGreaterThan(5);
    expect(Math.max(...pages.map((page) => Buffer.byteLength(page)))).toBeLessThanOrEqual(32 * 1024);
    expect(pages.join("").split("é")).toHaveLength(100_001);
  });
});

describe("a slow diff", () => {
  // Lines of few kinds in another order have no short way from one to the other.
  function shuffle(seed: number): string {
    let state = seed;
    const lines = Array.from({ length: 40_000 }, () => {
      state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
      return `${state % 3}\n`;
    });
    return lines.join("");
  }

  it("replaces everything at its deadline, while this thread does other work", async () => {
    const differ = createDiffer({ timeoutMs: 50 });
    onTestFinished(differ.close);
    let ticks = 0;
    const timer = setInterval(() => ticks++, 5);
    onTestFinished(() => clearInterval(timer));

    const lines = await differ.diff(shuffle(1), shuffle(2));

    expect(lines).toHaveLength(80_001);
    expect(ticks).toBeGreaterThan(1);
  });

  it("whose thread cannot start replaces everything too", async () => {
    const differ = createDiffer({ program: "/missing.js" });
    onTestFinished(differ.close);

    expect(await differ.diff("a\n", "b\n")).toEqual(["@@ -1,1 +1,1 @@", "-a", "+b"]);
  });
});
