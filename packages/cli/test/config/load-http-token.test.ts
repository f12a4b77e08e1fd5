import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkFilesBy } from "@budgie/core/text";
import { describe, expect, it, onTestFinished } from "vitest";
import { takeHttpToken, loadHttpToken } from "../../src/config/load-http-token.ts";

const GOOD = "0123456789abcdef0123456789ABCDEF";

describe("loadHttpToken", () => {
  it("returns the given token, trimmed", () => {
    const file = write(`\n  ${GOOD}\r\n`);

    expect(make({ token: ` ${GOOD}\n` })).toEqual({ token: GOOD, isNew: false });
    expect(make({ file })).toEqual({ token: GOOD, isNew: false });
  });

  it("creates another of 256 bits each time if none was given", () => {
    const [one, two] = [make({}), make({})];

    expect(one.token).toMatch(/^[\w-]{43}$/);
    expect(one.isNew).toBe(true);
    expect(one.token).not.toBe(two.token);
  });

  it.each([
    ["two tokens", () => ({ token: GOOD, file: write(GOOD) }), /Both BUDGIE_HTTP_TOKEN and --http-token-file/],
    ["no token for other machines", () => ({ isRemote: true }), /--http-allow-remote budgie makes no token of its own/],
    ["a short token", () => ({ token: GOOD.slice(1) }), /BUDGIE_HTTP_TOKEN has a token of 31 characters, and 32/],
    ["a short token in a file", () => ({ file: write("short") }), /The file ".*" of .* has a token of 5 characters/],
    ["an empty file", () => ({ file: write("\n") }), /has a token of 0 characters/],
    ["two lines", () => ({ file: write(`${GOOD}\n${GOOD}`) }), /has an invalid token/],
    ["characters that no header may contain", () => ({ token: `${GOOD}ü` }), /has an invalid token/],
    ["a very long token", () => ({ token: GOOD.repeat(200) }), /has an invalid token/],
    ["a huge file", () => ({ file: write(GOOD.repeat(1000)) }), /is not a file with a token/],
    ["a folder", () => ({ file: folder() }), /is not a file with a token|EISDIR/],
    [
      "a missing file",
      () => ({ file: join(folder(), "none") }),
      /Cannot read the file ".*none" of --http-token-file: ENOENT/,
    ],
    ["a file that its group can read", () => ({ file: write(GOOD, 0o640) }), /Other users can read or change the file/],
    ["a file that everybody can read", () => ({ file: write(GOOD, 0o604) }), /Other users can read or change the file/],
  ])("refuses %s, and does not quote it", (_, given, message) => {
    let failure: unknown;
    try {
      make(given());
    } catch (error) {
      failure = error;
    }

    expect(failure).toMatchObject({ code: "CONFIG_INVALID", message: expect.stringMatching(message) });
    expect(String(failure)).not.toContain(GOOD.slice(0, 8));
  });
});

it("loadHttpToken refuses a link to a file that an agent may have written", () => {
  const target = write(GOOD);
  const file = `${target}-link`;
  symlinkSync(target, file);
  checkFilesBy({
    check(path, bytes) {
      if (path === target && String(bytes) === GOOD) throw new Error("agents could write there");
    },
  });
  onTestFinished(() => checkFilesBy(undefined));

  expect(() => make({ file })).toThrow(
    expect.objectContaining({
      code: "CONFIG_INVALID",
      message: `Cannot read the file "${file}" of --http-token-file: agents could write there.`,
    }),
  );
});

it("takeHttpToken removes it from the environment, and treats an empty one as missing", () => {
  const env = { BUDGIE_HTTP_TOKEN: GOOD, HOME: "/h" };
  const empty = { BUDGIE_HTTP_TOKEN: "" };

  expect([takeHttpToken({ env }), takeHttpToken({ env }), takeHttpToken({ env: empty })]).toEqual([
    GOOD,
    undefined,
    undefined,
  ]);
  expect(env).toEqual({ HOME: "/h" });
});

type Given = { readonly token?: string; readonly file?: string; readonly isRemote?: boolean };

function make({ file, isRemote = false, token }: Given) {
  return loadHttpToken({ token, file, isRemote });
}

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "budgie-token-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  mkdirSync(join(path, "folder"));
  return join(path, "folder");
}

function write(content: string, mode = 0o600): string {
  const file = join(folder(), "token");
  writeFileSync(file, content);
  chmodSync(file, mode);
  return file;
}
