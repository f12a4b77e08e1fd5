import { readlink, stat } from "node:fs/promises";
import { join, resolve } from "node:path";

const MOST_HOPS = 40;

/**
 * Resolves the symlinks that only root can have created, such as `/tmp` on macOS or `/home` on Fedora's atomic systems. Stops at the
 * first folder that another user may write to, because an agent may have created everything below it.
 */
export async function resolveSystemLinks(path: string, hopsLeft = MOST_HOPS): Promise<string> {
  // An agent that root started may write to every folder.
  if (process.getuid?.() === 0) return path;
  const names = path.split("/").filter((name) => name !== "");
  let folder = "/";
  for (const [index, name] of names.entries()) {
    const rest = names.slice(index + 1);
    if (!(await isWrittenByRootAlone(folder))) return join(folder, name, ...rest);
    const target = await readlink(join(folder, name)).catch(() => undefined);
    if (target !== undefined && hopsLeft > 0) return resolveSystemLinks(resolve(folder, target, ...rest), hopsLeft - 1);
    folder = join(folder, name);
  }
  return folder;
}

async function isWrittenByRootAlone(folder: string): Promise<boolean> {
  const found = await stat(folder).catch(() => undefined);
  return found?.uid === 0 && (found.mode & 0o022) === 0;
}
