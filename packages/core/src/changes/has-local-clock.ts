import { stat, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";

/** Whether the times of a folder's files are this machine's: those of a network's file system are a server's. */
export async function hasLocalClock(folder: string | Buffer): Promise<boolean> {
  const { type } = await statfs(folder);
  if (LOCAL.has(type)) return true;
  // Where the numbers mean something else, as on macOS: what this machine keeps its own files on is its own.
  const [{ dev }, own] = await Promise.all([stat(folder), stat(tmpdir())]);
  return dev === own.dev;
}

// statfs(2) of Linux. What is not known to be local, such as FUSE, may keep any times.
const LOCAL: ReadonlySet<number> = new Set([
  0xef53, // ext2, ext3, ext4
  0x58465342, // XFS
  0x9123683e, // Btrfs
  0x2fc12fc1, // ZFS
  0xca451a4e, // bcachefs
  0xf2f52010, // F2FS
  0x3153464a, // JFS
  0x01021994, // tmpfs
  0x794c7630, // overlayfs
  0x4d44, // FAT
  0x2011bab0, // exFAT
  0x7366746e, // NTFS
]);
