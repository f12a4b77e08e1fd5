import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createFindKiroFlags } from "@budgie/protocols/kiro";
import type { KiroFlags } from "../../../src/kiro/help/kiro-flags.ts";
import { findFlagsFor } from "../../../src/kiro/help/kiro-flags.ts";

const MARK = "--- budgie: next answer ---";
const LATE = "Options:\n      --agent-engine <E>  [possible values: v2, v3]\n      --v2  Runs V2\n";
const toPrinted = (runtime: string) => [LATE, LATE, "kiro-cli 2.37.0\n", runtime, ""].join(`\n${MARK}\n`);
const PRINTED = toPrinted("\n");
const FLAGS: KiroFlags = {
  chat: { hasV2: true, engines: ["v2", "v3"] },
  acp: { hasV2: true, engines: ["v2", "v3"] },
  hasRuntime: false,
};

/** Creates a runner whose program prints, and counts how often it runs. */
function createPlace(print: () => string | Promise<string>, imageId?: string) {
  const stateDir = mkdtempSync(join(tmpdir(), "budgie-flags-"));
  onTestFinished(() => rmSync(stateDir, { recursive: true }));
  let runs = 0;
  const runner = {
    imageId,
    async print() {
      runs++;
      return print();
    },
  };
  const find = (image = imageId, binary = "kiro-cli") =>
    createFindKiroFlags({ runner: { ...runner, imageId: image }, binary, stateDir });
  return { find, runs: () => runs, folder: join(stateDir, "kiro-flags") };
}

describe("createFindKiroFlags", () => {
  it("asks once, also for turns that begin at once", async () => {
    const { find, runs } = createPlace(() => PRINTED);
    const search = find();

    expect(await Promise.all([search(), search()])).toEqual([FLAGS, FLAGS]);
    expect(await search()).toEqual(FLAGS);
    expect(runs()).toBe(1);
  });

  it("asks once for an image, over all budgies, and again for another image or program", async () => {
    const { find, runs } = createPlace(() => PRINTED, "sha256:1");

    for (const search of [find(), find(), find("sha256:2"), find("sha256:1", "other")]) {
      expect(await search()).toEqual(FLAGS);
    }
    expect(runs()).toBe(3);
  });

  it("finds an unpacked harness", async () => {
    const { find } = createPlace(() => toPrinted("/opt/kiro/runtime\n/opt/kiro/runtime\n"));

    expect(await find()()).toEqual({ ...FLAGS, hasRuntime: true });
  });

  it("keeps nothing of a host's program, which may change", async () => {
    const { find, folder, runs } = createPlace(() => PRINTED);

    expect([await find()(), await find()()]).toEqual([FLAGS, FLAGS]);
    expect(runs()).toBe(2);
    expect(() => readdirSync(folder)).toThrow("ENOENT");
  });

  it("keeps the flags, and no word of the program", async () => {
    const { find, folder } = createPlace(() => PRINTED.replaceAll("Runs", "a secret"), "sha256:1");
    await find()();
    const [file = ""] = readdirSync(folder);

    expect(JSON.parse(readFileSync(join(folder, file), "utf8"))).toEqual(FLAGS);
  });

  it("asks again for a file that is not its own", async () => {
    const { find, folder, runs } = createPlace(() => PRINTED, "sha256:1");
    await find()();
    const [file = ""] = readdirSync(folder);
    for (const text of ["{", '{"chat":{"hasV2":"yes"}}', JSON.stringify({ ...FLAGS, more: 1 })]) {
      writeFileSync(join(folder, file), text);
      expect(await find()()).toEqual(FLAGS);
    }
    expect(runs()).toBe(4);
  });

  it.each<[string, () => string | Promise<string>]>([
    ["cannot be run", () => Promise.reject(new Error("no engine"))],
    ["prints nothing", () => ""],
    ["fails before its second help", () => `${LATE}\n${MARK}\n`],
  ])("knows nothing of a program that %s, and does not ask again at once", async (_what, print) => {
    const { find, folder, runs } = createPlace(print, "sha256:1");
    const search = find();

    expect([await search(), await search()]).toEqual([undefined, undefined]);
    expect(runs()).toBe(1);
    expect(() => readdirSync(folder)).toThrow("ENOENT");
  });
});

describe("findFlagsFor", () => {
  it("ends with its turn", async () => {
    const cancelling = new AbortController();
    const found = findFlagsFor(() => new Promise(() => undefined), { signal: cancelling.signal });
    cancelling.abort();

    expect(await found).toBeUndefined();
  });

  it("finds the flags for a turn", async () => {
    const { signal } = new AbortController();

    expect(await findFlagsFor(async () => FLAGS, { signal })).toEqual(FLAGS);
    expect(await findFlagsFor(undefined, { signal })).toBeUndefined();
  });
});
