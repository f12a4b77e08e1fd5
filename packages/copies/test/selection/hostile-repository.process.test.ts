import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { expect, it, onTestFinished } from "vitest";
import { showChanges } from "@budgie/copies/diffs";
import { undoChanges } from "@budgie/copies/apply";
import { applyIn, createWorld, writeFiles, type World } from "../helpers/create-world.ts";
import { readAll, select } from "../helpers/select.ts";

it("nothing of a repository runs while it is copied, compared, shown, applied and undone, and its git stays as it was", async () => {
  const world = createWorld({ "a.txt": "one\n", "b.txt": "two\n" });
  const { directory } = world;
  git(directory, "init", "-q", "-b", "main");
  git(directory, "add", ".");
  git(directory, "commit", "-qm", "first");
  const ran = join(world.outside, "ran");
  const program = join(directory, ".git/hooks/program");
  writeFiles(directory, {
    ".git/hooks/program": `#!/bin/sh\ntouch '${ran}'\ncat\n`,
    ".gitattributes": "* filter=evil diff=evil\n",
  });
  chmodSync(program, 0o755);
  for (const key of [
    "core.fsmonitor",
    "filter.evil.clean",
    "filter.evil.smudge",
    "diff.evil.textconv",
    "diff.external",
  ]) {
    git(directory, "config", key, program);
  }
  const kept = ["index", "HEAD", "config", "refs/heads/main"].map((name) => join(directory, ".git", name));
  const before = kept.map((path) => readFileSync(path, "hex"));
  writeFiles(world.copy, { "a.txt": "ONE\n", "new.txt": "x\n" });

  await readAll(await select(directory));
  const { id, set } = await world.collect();
  await showChanges(set, world.sets);
  await applyIn(world, id);
  expect(readFileSync(join(directory, "a.txt"), "utf8")).toBe("ONE\n");
  await undoChanges({ sets: world.sets, owner: world.owner, id });

  expect(kept.map((path) => readFileSync(path, "hex"))).toEqual(before);
  expect(existsSync(ran)).toBe(false);
  // The control: a git that only looks runs it.
  git(directory, "status", "--porcelain");
  expect(existsSync(ran)).toBe(true);
});

it("a folder that becomes a link and a folder again, in a loop, has nothing outside copied or kept", async () => {
  const world = createWorld({ "b/secret.txt": "mine\n", ...Object.fromEntries(manyFiles("b/x")) });
  const { directory, outside } = world;
  writeFiles(outside, Object.fromEntries(manyFiles("x")));
  writeFiles(world.copy, { "b/secret.txt": "changed\n" });
  const exchanging = exchange(join(directory, "b"), outside);
  const read: string[] = [];
  let followed = 0;

  for (let round = 0; round < 40 || followed === 0; round += 1) {
    read.push(...(await copyContents(directory)), ...(await keptContents(world)));
    // The control: a path alone leads outside.
    if (readByPath(join(directory, "b/secret.txt")) === OUTSIDE) followed += 1;
  }
  await exchanging.terminate();

  expect(followed).toBeGreaterThan(0);
  expect(read).toContain("mine\n");
  expect(read).not.toContain(OUTSIDE);
});

/** Reads what a copy of a directory would get now. */
async function copyContents(directory: string): Promise<readonly string[]> {
  const selection = await select(directory).catch(() => undefined);
  return selection === undefined ? [] : (await readAll(selection)).contents;
}

/** Reads what a collection keeps of the directory now. */
async function keptContents({ collect, sets }: World): Promise<readonly string[]> {
  const collected = await collect().catch(() => undefined);
  const digests = (collected?.set.changes ?? []).flatMap(({ before }) =>
    before?.kind === "file" && before.kept ? [before.digest ?? ""] : [],
  );
  return Promise.all(digests.map(async (digest) => (await sets.objects.read(digest))?.toString() ?? ""));
}

// The content of `secret.txt` in the folder outside.
const OUTSIDE = "of the user\n";

function manyFiles(prefix: string) {
  return Array.from({ length: 20 }, (_, index) => [`${prefix}${index}.txt`, "x"] as const);
}

function readByPath(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

/** Replaces a folder by a link to another, and back, until it is terminated. */
function exchange(folder: string, target: string): Worker {
  const script = `
    const { renameSync, symlinkSync, unlinkSync } = require("node:fs");
    const { folder, target } = require("node:worker_threads").workerData;
    for (;;) {
      renameSync(folder, folder + ".away");
      symlinkSync(target, folder);
      unlinkSync(folder);
      renameSync(folder + ".away", folder);
    }`;
  const worker = new Worker(script, { eval: true, workerData: { folder, target } });
  onTestFinished(() => void worker.terminate());
  return worker;
}

function git(cwd: string, ...args: readonly string[]): void {
  const who = { GIT_AUTHOR_NAME: "a", GIT_AUTHOR_EMAIL: "a@b", GIT_COMMITTER_NAME: "a", GIT_COMMITTER_EMAIL: "a@b" };
  const env = { PATH: process.env["PATH"], HOME: "/nonexistent", GIT_CONFIG_NOSYSTEM: "1", ...who };
  execFileSync("git", args, { cwd, env });
}
