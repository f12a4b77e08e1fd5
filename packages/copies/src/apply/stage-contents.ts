import { closeSync } from "node:fs";
import { link, lstat, mkdir, rmdir, symlink, unlink, writeFile } from "node:fs/promises";
import { forEachOf, pathIn, type FolderHandle } from "@budgie/core/walk";
import type { ObjectStore } from "../objects/object-store.ts";
import { POOLED, type FileCalls } from "../host/file-calls.ts";
import { changeFolderMode, type HostFolder } from "../host/host-folder.ts";
import { syncAll, syncEntry } from "../host/sync-all.ts";
import { conflictError, toStageNames, type Step } from "./apply-plan.ts";

/** Writes the new entries of all steps into the stage, and to the disk. Returns the steps with what the journal needs to know of them. */
export async function stageContents(
  { host, objects, stage }: Staging,
  steps: readonly Step[],
): Promise<readonly Step[]> {
  await probe(stage, steps);
  const staged = [...steps];
  const files: Buffer[] = [];
  await forEachOf(steps.entries(), AT_ONCE, async ([number, step]) => {
    const path = pathIn(stage, Buffer.from(toStageNames(number).fresh));
    if (step.op === "write" && step.after.kind === "link") return symlink(step.after.target, path);
    if (step.op === "write") {
      await stageFile(path, step, { objects, calls: host.calls });
      files.push(path);
    }
    if (step.op !== "mkdir") return;
    await mkdir(path);
    if (step.mode !== undefined) await changeFolderMode(path, step.mode & 0o3777);
    const { dev, ino } = await lstat(path, { bigint: true });
    staged[number] = { ...step, identity: `${dev}:${ino}` };
  });
  await host.at(".", (root) => syncAll(stage, [...files, pathIn(stage, SELF), root.path], syncEntry));
  return staged;
}

export type Staging = { readonly host: HostFolder; readonly stage: FolderHandle; readonly objects: ObjectStore };

const SELF = Buffer.from(".");

// A file server answers several calls at once in hardly more time than one.
const AT_ONCE = 16;

type Write = Extract<Step, { op: "write" }>;

type Storing = { readonly objects: ObjectStore; readonly calls: FileCalls };

async function stageFile(path: Buffer, step: Write, { calls, objects }: Storing): Promise<void> {
  const { after } = step;
  const content = after.kind === "file" ? await objects.read(after.digest ?? "") : undefined;
  if (content === undefined || after.kind !== "file") {
    throw conflictError(step.path, "its stored content is missing or damaged");
  }
  const fd = await calls.open(path, "wx", step.mode ?? (after.executable ? 0o777 : 0o666));
  try {
    await calls.write(fd, content);
    await setRights(fd, step, calls);
  } finally {
    closeSync(fd);
  }
}

async function setRights(fd: number, { gid, mode, path }: Write, calls: FileCalls): Promise<void> {
  const found = await calls.fstat(fd);
  const isGiven = gid !== undefined && BigInt(gid) !== found.gid;
  if (isGiven) {
    await calls.fchown(fd, -1, gid).catch(() => {
      throw conflictError(path, "its group cannot be kept");
    });
  }
  // After the owner, whose change clears bits.
  const isOther = isGiven || (Number(found.mode) & 0o7777) !== mode;
  if (mode !== undefined && isOther) await calls.fchmod(fd, mode);
}

/** Throws if the file system has no hard links, or takes two names of the steps for one. */
async function probe(stage: FolderHandle, steps: readonly Step[]): Promise<void> {
  const at = (name: string): Buffer => pathIn(stage, Buffer.from(name));
  await writeFile(at("probe"), "", { flag: "wx" });
  const isFolding = await lstat(at("PROBE")).then(
    () => true,
    () => false,
  );
  try {
    await link(at("probe"), at("probe-link"));
    await unlink(at("probe-link"));
  } catch (error) {
    throw conflictError(
      steps[0]?.path ?? "",
      `the file system has no hard links (${(error as NodeJS.ErrnoException).code})`,
    );
  } finally {
    await unlink(at("probe"));
  }
  const twin = isFolding ? findTwin(steps) : undefined;
  if (twin !== undefined) throw conflictError(twin, "the file system takes it for another changed path");
}

function findTwin(steps: readonly Step[]): string | undefined {
  const seen = new Map<string, string>();
  for (const { path } of steps) {
    const folded = path.normalize("NFC").toLowerCase();
    const other = seen.get(folded);
    if (other !== undefined && other !== path) return path;
    seen.set(folded, path);
  }
  return undefined;
}

/** Removes what the steps left in a stage. What was moved aside and could not go back stays. */
export async function emptyStage(
  { calls, stage }: { readonly calls: FileCalls; readonly stage: FolderHandle },
  steps: readonly Step[],
  withOld: boolean,
): Promise<void> {
  const remove = (name: string, { unlink } = calls): Promise<void> =>
    unlink(pathIn(stage, Buffer.from(name))).catch(ignoreMissing);
  for (const name of ["probe", "probe-link"]) await remove(name);
  for (const [number, step] of steps.entries()) {
    const { fresh } = toStageNames(number);
    if (step.op === "mkdir") await rmdir(pathIn(stage, Buffer.from(fresh))).catch(ignoreMissing);
    else await remove(fresh);
  }
  if (!withOld) return;
  // A file's last name takes a while to go from a disk, which frees several at once in hardly more time than one.
  const aside = [...steps.entries()].flatMap(([number, step]) => ("before" in step ? [toStageNames(number).old] : []));
  await forEachOf(aside, AT_ONCE, (old) => remove(old, POOLED));
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== "ENOENT") throw error;
}
