import { opendir, type FileHandle } from "node:fs/promises";
import { listFolder } from "@budgie/sandbox/proc";
import type { OverBase } from "./overlay-volume.ts";

/**
 * Creates the listing of open copies, by `listFolder`. All copies over which nothing was written have the same one as their base, which nobody changes, so it is
 * made once for those that are listed after each other. Only the mode of the copy's own folder can be another one, without an entry in `upper`.
 */
export function createCopyListing(list: typeof listFolder = listFolder) {
  let last: { readonly key: string; readonly listing: ReturnType<typeof listFolder> } | undefined;

  return async (copy: FileHandle, over: OverBase | undefined): Promise<Buffer | undefined> => {
    if (over === undefined || !(await isEmpty(over.upper))) return list(copy);
    const key = `${(await copy.stat()).mode} ${over.base}`;
    if (last?.key !== key) last = { key, listing: list(copy) };
    const { listing } = last;
    const found = await listing.catch(() => undefined);
    // The next one may succeed.
    if (found === undefined && last.listing === listing) last = undefined;
    return found ?? list(copy);
  };
}

/** Tells if a folder is there and empty. Budgie may have no right to see it. */
async function isEmpty(path: string): Promise<boolean> {
  try {
    const folder = await opendir(path);
    try {
      return (await folder.read()) === null;
    } finally {
      await folder.close();
    }
  } catch {
    return false;
  }
}
