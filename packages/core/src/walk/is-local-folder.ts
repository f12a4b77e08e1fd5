import { stat, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";

/** Returns true if a folder is on a file system of this machine, with its clock, and not on a file server. */
export async function isLocalFolder(folder: string | Buffer): Promise<boolean> {
  const { type } = await statfs(folder);
  if (LOCAL.has(type)) return true;
  // The numbers differ on macOS. The file system of the temporary folder is local there.
  const [{ dev }, own] = await Promise.all([stat(folder), stat(tmpdir())]);
  return dev === own.dev;
}

/**
 * Returns `disk` for a folder on a disk's file system, which notes the time of each change by this machine's clock, and `overlay` for one
 * on an overlay, which does as the file system below it. tmpfs notes no time for what is written through a shared mapping.
 */
export async function findDisk(folder: string): Promise<"disk" | "overlay" | undefined> {
  const { type } = await statfs(folder);
  if (type === OVERLAY) return "overlay";
  return DISKS.has(type) ? "disk" : undefined;
}

// The magic numbers of statfs(2) on Linux. Other file systems, such as FUSE, may have any times.
const OVERLAY = 0x794c7630;
const DISKS: ReadonlySet<number> = new Set([
  0xef53, // ext2, ext3, ext4
  0x58465342, // XFS
  0x9123683e, // Btrfs
  0x2fc12fc1, // ZFS
  0xca451a4e, // bcachefs
  0xf2f52010, // F2FS
  0x3153464a, // JFS
]);
const LOCAL: ReadonlySet<number> = new Set([
  ...DISKS,
  OVERLAY,
  0x01021994, // tmpfs
  0x4d44, // FAT
  0x2011bab0, // exFAT
  0x7366746e, // NTFS
]);
