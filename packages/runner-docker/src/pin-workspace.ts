import { constants } from "node:fs";
import { open, readlink, realpath, stat } from "node:fs/promises";
import { BudgieError } from "@budgie/core";
import { SANDBOX } from "./container-options.ts";
import type { ContainerRoot } from "./enter-container.ts";

/** A workspace held open, so that it can be told from whatever takes its path later. */
export type PinnedWorkspace = AsyncDisposable & {
  readonly gid: number;
  /** Checks that a started container has this directory and no other, or throws `WORKSPACE_INVALID`; `undefined` if it is elsewhere. */
  confirm(root: ContainerRoot | undefined): Promise<void>;
};

/**
 * Opens a directory by its resolved path, or throws `WORKSPACE_INVALID`. The engine follows the path again on its own, at
 * a time of its own: who may write a folder on the way can turn it elsewhere in between, and back.
 */
export async function pinWorkspace(path: string): Promise<PinnedWorkspace> {
  const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW).catch(
    (error: NodeJS.ErrnoException) => {
      throw moved(path, `cannot be opened (${error.code})`);
    },
  );
  try {
    const { dev, gid, ino } = await handle.stat({ bigint: true });
    if ((await pathOf(handle.fd, path)) !== path) throw moved(path);
    return {
      gid: Number(gid),
      async confirm(root) {
        // The engine of another machine or kernel cannot be looked into: that the path still leads here is all there is.
        const seen = (await statInside(root)) ?? (await statUnlinked(path));
        if (seen?.dev !== dev || seen.ino !== ino) throw moved(path);
      },
      [Symbol.asyncDispose]: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

type Identity = { readonly dev: bigint; readonly ino: bigint };

/** Where an open directory really is: on Linux the kernel knows. */
async function pathOf(fd: number, path: string): Promise<string | undefined> {
  return readlink(`/proc/self/fd/${fd}`).catch(() => realpath(path).catch(() => undefined));
}

/** The workspace of a container as the kernel has it mounted; `undefined` if it is not here to be looked at. */
async function statInside(root: ContainerRoot | undefined): Promise<Identity | undefined> {
  if (root === undefined) return undefined;
  return await stat(root.path + SANDBOX.workspace, { bigint: true }).catch(() => undefined);
}

async function statUnlinked(path: string): Promise<Identity | undefined> {
  if ((await realpath(path).catch(() => undefined)) !== path) return undefined;
  return stat(path, { bigint: true }).catch(() => undefined);
}

function moved(path: string, what = "is another one than was checked: its path was turned elsewhere"): BudgieError {
  return new BudgieError("WORKSPACE_INVALID", `The directory "${path}" ${what}. Check it, and ask again.`);
}
