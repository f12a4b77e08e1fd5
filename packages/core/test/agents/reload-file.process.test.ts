import { execFileSync } from "node:child_process";
import { mkdirSync, renameSync, rmSync, statSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { reloadFile } from "../../src/agents/reload-file.ts";
import { createTemporaryFolder } from "../helpers/temporary-folder.ts";

describe("reloadFile", () => {
  let file: string;
  let parsed: string[];

  beforeEach(() => {
    file = join(createTemporaryFolder(), "file");
    parsed = [];
  });

  function parse(text: string): { readonly text: string } {
    parsed.push(text);
    if (text.startsWith("bad")) throw new Error(`cannot parse\n"${text}"`);
    return { text };
  }

  it("parses a file only if it changed", () => {
    writeFileSync(file, "one");
    const first = reloadFile(file, parse);
    const second = reloadFile(file, parse, first);
    writeFileSync(file, "two");
    const third = reloadFile(file, parse, second);

    expect(second.value).toBe(first.value);
    expect(third.value).toEqual({ text: "two" });
    expect(parsed).toEqual(["one", "two"]);
  });

  it("notices a change that keeps the file's size and time", () => {
    writeFileSync(file, "one");
    const { atime, mtime } = statSync(file);
    const first = reloadFile(file, parse);
    writeFileSync(file, "two");
    utimesSync(file, atime, mtime);

    expect(reloadFile(file, parse, first).value).toEqual({ text: "two" });
  });

  it("keeps the last value while the content is invalid, and says why in one line", () => {
    writeFileSync(file, "good");
    const good = reloadFile(file, parse);
    writeFileSync(file, "bad");
    const bad = reloadFile(file, parse, good);

    expect(bad).toMatchObject({ value: { text: "good" }, problem: 'cannot parse "bad"' });
    expect(reloadFile(file, parse, bad)).toMatchObject({ value: { text: "good" }, problem: 'cannot parse "bad"' });
    writeFileSync(file, "good again");
    expect(reloadFile(file, parse, bad)).toMatchObject({ value: { text: "good again" }, problem: undefined });
  });

  it("forgets the value of a removed file, also behind a symlink", () => {
    const link = `${file}-link`;
    writeFileSync(file, "one");
    symlinkSync(file, link);
    const first = reloadFile(link, parse);
    rmSync(file);

    expect(first.value).toEqual({ text: "one" });
    expect(reloadFile(link, parse, first)).toMatchObject({ value: undefined, stamp: undefined });
  });

  it("reads no more than a megabyte, and keeps the last value of a file that grew too large", () => {
    writeFileSync(file, "x".repeat(2 ** 20));
    const first = reloadFile(file, parse);
    truncateSync(file, 2 ** 40);

    expect(first.problem).toBeUndefined();
    expect(reloadFile(file, parse, first)).toMatchObject({ value: first.value, problem: "it is larger than 1 MiB" });
  });

  it("opens no folder, no pipe without a writer, and no device", () => {
    const pipe = `${file}-pipe`;
    const device = `${file}-device`;
    mkdirSync(file);
    execFileSync("mkfifo", [pipe]);
    symlinkSync("/dev/zero", device);

    for (const path of [file, pipe, device]) {
      expect(reloadFile(path, parse)).toMatchObject({ value: undefined, problem: "it is not a file" });
    }
    rmSync(pipe);
    writeFileSync(pipe, "one");
    renameSync(pipe, device);
    expect(reloadFile(device, parse)).toMatchObject({ value: { text: "one" }, problem: undefined });
  });
});
