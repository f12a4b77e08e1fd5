import { spawn } from "node:child_process";
import { closeSync, constants } from "node:fs";
import { release } from "node:os";
import { platform } from "node:process";
import { forEachOf, isLocalFolder, SYSTEM_PATH, type FolderHandle } from "@budgie/core/walk";
import { POOLED } from "./file-calls.ts";

/**
 * Writes files and folders of one file system to the disk, of which `on` is an open folder: by `sync` each, or all of the file system if they
 * are many and it is of this machine. Rejects if the disk fails.
 */
export async function syncAll<Item>(
  on: FolderHandle,
  items: readonly Item[],
  sync: (item: Item) => Promise<void>,
): Promise<void> {
  // The kernel writes all of a file system in the time that it takes for a few files.
  if (items.length >= MANY && (await canSyncFs(on)) && (await syncFs(on))) return;
  // One by one also after a failure of that, for the error.
  await forEachOf(items, AT_ONCE, sync);
}

const MANY = 64;

// The disk syncs several files at once in hardly more time than one.
const AT_ONCE = 16;

/** Writes a file, or the entries of a folder, to the disk. Rejects for a symlink. */
export async function syncEntry(path: Buffer): Promise<void> {
  const fd = await POOLED.open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    await POOLED.fsync(fd);
  } finally {
    closeSync(fd);
  }
}

const PROGRAM = "sync";

/** Returns true if a folder's file system can be synced as a whole. FUSE says so of all, and does not tell its server. */
async function canSyncFs({ at }: FolderHandle): Promise<boolean> {
  return (await isLocalFolder(at).catch(() => false)) && hasSyncFs();
}

let known: Promise<boolean> | undefined;

/** Returns true if this machine syncs one file system, and tells of its errors: other programs of the name and older kernels do not. */
function hasSyncFs(): Promise<boolean> {
  known ??= findSyncFs();
  return known;
}

async function findSyncFs(): Promise<boolean> {
  const [major = 0, minor = 0] = release().split(".").map(Number);
  if (platform !== "linux" || major < 5 || (major === 5 && minor < 8)) return false;
  const said = await run(["--version"]).catch(() => "");
  return said.startsWith("sync (GNU coreutils)");
}

/** Syncs the file system of an open folder; returns `false` if that failed. */
async function syncFs({ fd }: FolderHandle): Promise<boolean> {
  return run(["--file-system", "/proc/self/fd/3"], fd).then(
    () => true,
    () => false,
  );
}

// All of a file system may have much more to write than the files that matter.
const LONGEST_MS = 30_000;

/** Runs the program, and returns the beginning of its output; rejects unless it ends well and soon. The folder is its descriptor 3. */
function run(args: readonly string[], folder?: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(PROGRAM, args, {
      stdio: ["ignore", "pipe", "ignore", ...(folder === undefined ? [] : [folder])],
      env: { LC_ALL: "C", PATH: SYSTEM_PATH },
    });
    let said = "";
    child.stdout?.on("data", (chunk: Buffer) => (said += said.length > 100 ? "" : chunk.toString("latin1")));
    // A program that waits for its disk cannot be killed, so its end is not waited for.
    const timer = setTimeout(() => {
      child.kill("SIGKILL");
      child.unref();
      child.stdout?.destroy();
      reject(new Error(`${PROGRAM} takes more than ${LONGEST_MS} ms.`));
    }, LONGEST_MS);
    child.once("error", (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.once("close", (code) => {
      clearTimeout(timer);
      if (code === 0) resolve(said);
      else reject(new Error(`${PROGRAM} ended with ${code}.`));
    });
  });
}
