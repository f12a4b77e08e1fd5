import { existsSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type Docker from "dockerode";
import type { GcPolicy } from "@budgie/core";
import { timeLimit } from "../engine/with-timeout.ts";
import { toStateLabel } from "../image/build-project-image.ts";
import { CACHE_LABEL, cachesFolder } from "../session/create-caches.ts";
import { collect, type createReport } from "./collect-garbage.ts";
import { removeVolume } from "../session/remove-volume.ts";

const UNUSED_MS = 30 * 24 * 3_600_000;

type Removing = { readonly stateDir: string; readonly policy: Pick<GcPolicy, "dryRun"> };

/** Removes the caches of this state directory's budgies whose directory is gone, or that no session has used for 30 days. */
export async function removeCaches(
  docker: Docker,
  report: ReturnType<typeof createReport>,
  { policy: { dryRun }, stateDir }: Removing,
): Promise<void> {
  const filters = { label: [`${CACHE_LABEL}=${toStateLabel(stateDir)}`] };
  const { Volumes } = await docker.listVolumes({ filters, ...timeLimit() });
  for (const { Labels, Name: name } of Volumes) {
    if (Labels?.[CACHE_LABEL] === undefined) continue;
    const note = join(cachesFolder(stateDir), name);
    const item = { kind: "volume" as const, name, session: undefined };
    const remove = async (): Promise<string | undefined> => {
      const inUse = await removeVolume(docker.getVolume(name));
      if (inUse === undefined) rmSync(note, { force: true });
      return inUse;
    };
    await collect({ item, remove }, { report, why: findUse(note), dryRun });
  }
}

function findUse(note: string): string | undefined {
  if (!existsSync(note)) return undefined;
  const directory = readFileSync(note, "utf8");
  const isUsed = existsSync(directory) && Date.now() - statSync(note).mtimeMs < UNUSED_MS;
  return isUsed ? `it is the cache of "${directory}"` : undefined;
}
