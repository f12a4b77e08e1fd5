import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ApplyResult } from "@budgie/copies/apply";
import { applyIn, createWorld, writeFiles, type World } from "./create-world.ts";

const FILES = { "a.txt": "one\n", "b/c.txt": "two\n", "gone.txt": "old\n", "kind/x.txt": "x\n" };
export const BEFORE = { ...FILES, "b/": "", "kind/": "" };
export const AFTER = {
  "a.txt": "ONE\n",
  "b/": "",
  "b/c.txt": "TWO\n",
  "new/": "",
  "new/e.txt": "five\n",
  kind: "a file\n",
};

/** Each call of the apply that changes something, in its order. */
export const STEPS = [
  "stage",
  "rename gone.txt",
  "check gone.txt",
  "rename kind/x.txt",
  "check kind/x.txt",
  "rmdir kind",
  "mkdir new",
  "rename a.txt",
  "check a.txt",
  "link a.txt",
  "link kind",
  "rename b/c.txt",
  "check b/c.txt",
  "link b/c.txt",
  "link new/e.txt",
  "verify",
  "sync",
];
export const LATE = ["commit", "clean"];

/** Creates a world with a pending set of changes of each kind. */
export async function prepare(): Promise<World & { readonly id: string }> {
  const world = createWorld(FILES);
  writeFiles(world.copy, { "a.txt": "ONE\n", "b/c.txt": "TWO\n", "new/e.txt": "five\n" });
  rmSync(join(world.copy, "gone.txt"));
  rmSync(join(world.copy, "kind"), { recursive: true });
  writeFileSync(join(world.copy, "kind"), "a file\n");
  return { ...world, id: (await world.collect()).id };
}

export type OnStep = (step: string) => void | Promise<void>;

/** Applies the set, and calls `onStep` before each step. */
export function applyWith(world: World & { readonly id: string }, onStep: OnStep): Promise<ApplyResult> {
  return applyIn(world, world.id, { onStep });
}
