import { chmod, lstat, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { SANDBOX } from "@budgie/sandbox/profile";
import { HOLD_SOCKET, POD, TRUST, WIRE_SOCKET } from "../requests/pod-paths.ts";

/** The folders and sockets of a sidecar, which tests have in a folder of their own. */
export type PodRoots = {
  /** The folder of the image with `hold`, its profile and the copier */
  readonly image: string;
  readonly holdSocket: string;
  /** The user's certificates, by their form */
  readonly trust: Readonly<Record<keyof typeof TRUST, string>>;
  readonly home: string;
  /** The originals of covered paths, on the volume of the home */
  readonly homeHidden: string;
  /** The host's files at their own paths, which the agent has read-only */
  readonly shown: string;
  readonly work: string;
  /** The workspace's copy */
  readonly tree: string;
  /** The originals of hidden paths, on the volume of the copy */
  readonly hidden: string;
  /** The folders that are emptied after each turn */
  readonly scratch: readonly [tmp: string, shm: string];
  /** The agent's read-only folder, which stays between turns */
  readonly auth: string;
  readonly wireSocket: string;
};

/** Returns the roots below a folder; `/` in a Pod. */
export function toRoots(root: string): PodRoots {
  const at = (path: string): string => join(root, path);
  return {
    image: at(POD.image),
    holdSocket: at(HOLD_SOCKET),
    trust: { pem: at(TRUST.pem), java: at(TRUST.java) },
    home: at(SANDBOX.home),
    homeHidden: at(`${POD.home}/hidden`),
    shown: at(POD.shown),
    work: at(POD.work),
    tree: at(`${POD.work}/tree`),
    hidden: at(`${POD.work}/hidden`),
    scratch: [at(`${POD.scratch}/tmp`), at(POD.sharedMemory)],
    auth: at(SANDBOX.auth),
    wireSocket: at(WIRE_SOCKET),
  };
}

/**
 * Makes the folders that are missing. Kubelet makes a volume's folder of another user when nothing has, in which the agent could not write.
 * Whatever is made in a volume inherits its group's bit, which would show in the modes of all folders.
 */
export async function makeFolders({ auth, hidden, home, homeHidden, scratch, shown, tree }: PodRoots): Promise<void> {
  for (const folder of [home, homeHidden, shown, tree, hidden, ...scratch, auth]) {
    await mkdir(folder, { recursive: true, mode: 0o755 });
    // Volumes themselves are another user's. Those of the agent are of no use then, as areFoldersOf tells.
    await chmod(folder, 0o755).catch(() => undefined);
  }
}

/** Tells if a user has the folders of the agent. In another one's, git would trust no repository. */
export async function areFoldersOf(
  uid: number | undefined,
  { home, tree }: Pick<PodRoots, "home" | "tree">,
): Promise<boolean> {
  const facts = await Promise.all([lstat(home), lstat(tree)]);
  return facts.every((found) => found.uid === uid);
}
