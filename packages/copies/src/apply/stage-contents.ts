import { closeSync, type BigIntStats } from "node:fs";
import { link, lstat, mkdir, rmdir, symlink, unlink, writeFile } from "node:fs/promises";
import { forEachOf, pathIn, type FolderHandle } from "@budgie/core/walk";
import type { ObjectStore } from "../objects/object-store.ts";
import { POOLED, type FileCalls } from "../host/file-calls.ts";
import { forEachByFolder, type FoundPlace } from "../host/for-each-by-folder.ts";
import { changeFolderMode, type HostFolder } from "../host/host-folder.ts";
import { syncAll, syncEntry } from "../host/sync-all.ts";
import { conflictError, toNearName, toStageNames, type Step } from "./apply-plan.ts";

/** Writes the new entries of all steps into the stage, and to the disk. Returns the steps with what the journal needs to know of them. */
export async function stageContents(staging: Staging, steps: readonly Step[]): Promise<readonly Step[]> {
  const { host, stage } = staging;
  await probe(stage, steps);
  const staged = [...steps];
  const files: StagedFile[] = [];
  await forEachOf(steps.entries(), AT_ONCE, async ([number, step]) => {
    const path = pathIn(stage, Buffer.from(toStageNames(number).fresh));
    if (step.op === "write" && step.after.kind === "link") return symlink(step.after.target, path);
    if (step.op === "write") files.push({ ...step, number, fresh: path });
    if (step.op !== "mkdir") return;
    await mkdir(path);
    if (step.mode !== undefined) await changeFolderMode(path, step.mode & 0o3777);
    const { dev, ino } = await lstat(path, { bigint: true });
    staged[number] = { ...step, identity: `${dev}:${ino}` };
  });
  await forEachByFolder(host, files, (file, found) => stageFile(file, found, staging));
  const fresh = files.map((file) => file.fresh);
  await host.at(".", (root) => syncAll(stage, [...fresh, pathIn(stage, SELF), root.path], syncEntry));
  return staged;
}

export type Staging = {
  readonly host: HostFolder;
  readonly stage: FolderHandle;
  /** Name of the stage in the directory */
  readonly name: string;
  readonly objects: ObjectStore;
};

const SELF = Buffer.from(".");

// A file server answers several calls at once in hardly more time than one.
const AT_ONCE = 16;

type Write = Extract<Step, { op: "write" }>;

/** A file to write to its path in the stage, of the step with a number. */
type StagedFile = Write & { readonly number: number; readonly fresh: Buffer };

async function stageFile(step: StagedFile, place: FoundPlace, staging: Staging): Promise<void> {
  const { host, objects } = staging;
  const { calls } = host;
  const { after } = step;
  const content = after.kind === "file" ? await objects.read(after.digest ?? "") : undefined;
  if (content === undefined || after.kind !== "file") {
    throw conflictError(step.path, "its stored content is missing or damaged");
  }
  const { fd, found } = await createFresh(
    { ...step, mode: step.mode ?? (after.executable ? 0o777 : 0o666) },
    place,
    staging,
  );
  try {
    await calls.write(fd, content);
    await setRights({ fd, found }, step, calls);
  } finally {
    closeSync(fd);
  }
}

/** An open file that was just created, with its facts. */
type NewFile = { readonly fd: number; readonly found: BigIntStats };

type Created = Pick<StagedFile, "fresh" | "number"> & { readonly mode: number };

/**
 * Creates a file in the stage. On a local file system it begins beside the one that it replaces, since a file system chooses the place on the disk
 * by the folder: near its siblings, which is also quicker to find than in the new folder of a stage.
 */
async function createFresh(
  { fresh, mode, number }: Created,
  place: FoundPlace,
  { host, name }: Staging,
): Promise<NewFile> {
  const { calls } = host;
  if ("folder" in place && calls !== POOLED) {
    const near = pathIn(place.folder, Buffer.from(toNearName(name, number)));
    const made = await moveNear({ near, fresh, mode }, calls);
    if (made !== undefined) return made;
  }
  const fd = await calls.open(fresh, "wx", mode);
  try {
    return { fd, found: await calls.fstat(fd) };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

type Moving = Pick<Created, "fresh" | "mode"> & { readonly near: Buffer };

/** Creates a file beside others, and moves it into the stage; `undefined` if its folder refuses that, of which the apply tells itself. */
async function moveNear({ fresh, mode, near }: Moving, calls: FileCalls): Promise<NewFile | undefined> {
  const fd = await calls.open(near, "wx", mode).catch(() => undefined);
  if (fd === undefined) return undefined;
  const found = await move(fd, { near, fresh }, calls).catch(() => undefined);
  if (found !== undefined) return { fd, found };
  closeSync(fd);
  for (const path of [near, fresh]) await calls.unlink(path).catch(ignoreMissing);
  return undefined;
}

/** Moves an open file into the stage; `undefined` if someone else had put another one in its place. */
async function move(fd: number, { fresh, near }: Omit<Moving, "mode">, calls: FileCalls) {
  await calls.rename(near, fresh);
  const [found, moved] = [await calls.fstat(fd), await calls.lstat(fresh)];
  return found.ino === moved.ino && found.dev === moved.dev ? found : undefined;
}

async function setRights({ fd, found }: NewFile, { gid, mode, path }: Write, calls: FileCalls): Promise<void> {
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
