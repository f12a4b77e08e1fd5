import { chmod, mkdir, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { buffer } from "node:stream/consumers";
import type { WorkspaceCopy } from "@budgie/core/copies";

/** Replaces what is in a folder by what is in a copy. */
export async function replaceFolder(folder: string, copy: Pick<WorkspaceCopy, "read">): Promise<void> {
  for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true, force: true });
  for await (const { content, entry } of copy.read()) {
    const at = join(folder, entry.path);
    if (entry.kind === "folder") await mkdir(at, { recursive: true });
    else if (entry.kind === "link") await symlink(entry.target, at);
    else if (entry.kind === "file" && content !== undefined) {
      await mkdir(dirname(at), { recursive: true });
      await writeFile(at, await buffer(content));
      await chmod(at, entry.mode);
    }
  }
}
