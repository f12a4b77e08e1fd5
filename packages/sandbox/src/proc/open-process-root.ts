import { constants } from "node:fs";
import { open, readFile, stat } from "node:fs/promises";
import { descriptorPath } from "../mounts/held-sources.ts";
import type { OpenRoot } from "./open-root.ts";

/** Looks into a container once, through `/proc`. */
export const openProcessRoot: OpenRoot = async (pid, id) => {
  const { O_DIRECTORY, O_RDONLY } = constants;
  // The open folder keeps referring to this process, and not to a later one with the same pid.
  const process = await open(`/proc/${pid}`, O_RDONLY | O_DIRECTORY).catch(() => undefined);
  if (process === undefined) return undefined;
  const path = descriptorPath(process);
  const read = (name: string): Promise<string> => readFile(`${path}/${name}`, "utf8").catch(() => "");
  const [mounts, status, canEnter] = await Promise.all([read("mountinfo"), read("status"), isThere(`${path}/root/`)]);
  // With an engine on another kernel, the pid may be any process here. Apart from the container's processes, only those that see the host's
  // mounts have its id among their mounts, and none of these is the first process of another pid namespace.
  if (canEnter && mounts.includes(id) && /^NSpid:\t\d+\t(?:\d+\t)*1$/m.test(status)) {
    return {
      path: `${path}/root`,
      readMounts: () => readFile(`${path}/mountinfo`, "utf8"),
      hasEnded: () => isGone(`${path}/stat`),
      [Symbol.asyncDispose]: () => process.close(),
    };
  }
  await process.close();
  return undefined;
};

/** Returns true if a path is accessible: until the runtime has executed the container's program, only root has access. */
async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

async function isGone(path: string): Promise<boolean> {
  return readFile(path).then(
    () => false,
    (error: NodeJS.ErrnoException) => error.code === "ENOENT" || error.code === "ESRCH",
  );
}
