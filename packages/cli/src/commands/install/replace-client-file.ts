import { randomUUID } from "node:crypto";
import {
  closeSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { refusalError, translating, type ClientFile } from "./load-client-file.ts";

/** The mark of backups, between the file's name and the time. */
export const BACKUP_MARK = ".budgie-backup-";

type Replacing = {
  readonly text: string;
  /** The mode of a new file; an existing file keeps its own */
  readonly mode: number;
  readonly keepsBackup: boolean;
};

/** Replaces a file atomically. Returns the path of the backup. */
export function replaceClientFile(file: ClientFile, { keepsBackup, mode, text }: Replacing): string | undefined {
  return translating(file.path, () => {
    mkdirSync(dirname(file.real), { recursive: true });
    const backup = keepsBackup ? backUp(file) : undefined;
    const draft = join(dirname(file.real), `.${basename(file.real)}.budgie-${randomUUID()}`);
    try {
      const mark = file.found?.bytes.subarray(0, MARK.length).equals(MARK) === true ? MARK : Buffer.alloc(0);
      write(draft, { bytes: Buffer.concat([mark, Buffer.from(text)]), like: file.found ?? { mode } });
      refuseChanged(file);
      renameSync(draft, file.real);
    } catch (cause) {
      for (const left of [draft, backup]) if (left !== undefined) rmSync(left, { force: true });
      throw cause;
    }
    return backup;
  });
}

/** Removes a file that contains only what install wrote. */
export function removeClientFile(file: ClientFile): void {
  translating(file.path, () => {
    refuseChanged(file);
    rmSync(file.real);
  });
}

// The byte order mark of UTF-8, which decoding removes
const MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** Copies a file beside its unresolved path, where the user looks for it. */
function backUp({ found, path }: ClientFile): string | undefined {
  if (found === undefined) return undefined;
  const backup = path + BACKUP_MARK + new Date().toISOString().replaceAll(/[:.]/g, "-");
  write(backup, { bytes: found.bytes, like: found });
  return backup;
}

type Like = { readonly mode: number; readonly uid?: number; readonly gid?: number };

/** Creates a file that is private until it has its mode and owner. Removes it on failure. */
function write(path: string, { bytes, like }: { readonly bytes: Buffer; readonly like: Like }): void {
  const handle = openSync(path, "wx", 0o600);
  try {
    writeFileSync(handle, bytes);
    const { gid, uid } = fstatSync(handle);
    const owner = { uid: like.uid ?? uid, gid: like.gid ?? gid };
    if (owner.uid !== uid || owner.gid !== gid) fchownSync(handle, owner.uid, owner.gid);
    fchmodSync(handle, like.mode);
    fsyncSync(handle);
  } catch (cause) {
    rmSync(path, { force: true });
    throw cause;
  } finally {
    closeSync(handle);
  }
}

/** Throws if another program has changed the file: some clients write theirs often. */
function refuseChanged({ found, path, real }: ClientFile): void {
  const now = readNow(real);
  const isSame = now === undefined || found === undefined ? now === found?.bytes : now.equals(found.bytes);
  if (!isSame) throw refusalError(path, "something else wrote it meanwhile; try again");
}

function readNow(real: string): Buffer | undefined {
  try {
    return readFileSync(real);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw cause;
  }
}
