import { link, lstat, mkdir, open, rmdir, symlink, unlink, writeFile } from "node:fs/promises";
import { forEachOf, pathIn, type FolderHandle } from "@budgie/core/walk";
import type { ObjectStore } from "../objects/object-store.ts";
import { changeFolderMode, syncFolder } from "../host/host-folder.ts";
import { conflictError, toStageNames, type Step } from "./apply-plan.ts";

/** Writes the new entries of all steps into the stage, and to the disk. Returns the steps with what the journal needs to know of them. */
export async function stageContents(
  stage: FolderHandle,
  steps: readonly Step[],
  objects: ObjectStore,
): Promise<readonly Step[]> {
  await probe(stage, steps);
  const staged = [...steps];
  await forEachOf(steps.entries(), AT_ONCE, async ([number, step]) => {
    const path = pathIn(stage, Buffer.from(toStageNames(number).fresh));
    if (step.op === "write") await stageEntry(path, step, objects);
    if (step.op !== "mkdir") return;
    await mkdir(path);
    if (step.mode !== undefined) await changeFolderMode(path, step.mode & 0o3777);
    const { dev, ino } = await lstat(path, { bigint: true });
    staged[number] = { ...step, identity: `${dev}:${ino}` };
  });
  await syncFolder(stage);
  return staged;
}

// The disk syncs several files at once in hardly more time than one.
const AT_ONCE = 16;

type Write = Extract<Step, { op: "write" }>;

async function stageEntry(path: Buffer, step: Write, objects: ObjectStore): Promise<void> {
  const { after } = step;
  if (after.kind === "link") return symlink(after.target, path);
  const content = after.kind === "file" ? await objects.read(after.digest ?? "") : undefined;
  if (content === undefined || after.kind !== "file") {
    throw conflictError(step.path, "its stored content is missing or damaged");
  }
  const file = await open(path, "wx", after.executable ? 0o777 : 0o666);
  try {
    await file.writeFile(content);
    const { gid } = await file.stat();
    if (step.gid !== undefined && step.gid !== gid) {
      await file.chown(-1, step.gid).catch(() => {
        throw conflictError(step.path, "its group cannot be kept");
      });
    }
    // After the owner, whose change clears bits.
    if (step.mode !== undefined) await file.chmod(step.mode);
    await file.sync();
  } finally {
    await file.close();
  }
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
export async function emptyStage(stage: FolderHandle, steps: readonly Step[], withOld: boolean): Promise<void> {
  const remove = (name: string): Promise<void> => unlink(pathIn(stage, Buffer.from(name))).catch(ignoreMissing);
  for (const name of ["probe", "probe-link"]) await remove(name);
  for (const [number, step] of steps.entries()) {
    const { fresh, old } = toStageNames(number);
    if (step.op === "mkdir") await rmdir(pathIn(stage, Buffer.from(fresh))).catch(ignoreMissing);
    else await remove(fresh);
    if (withOld) await remove(old);
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== "ENOENT") throw error;
}
