import type { Command } from "@budgie/core";
import { namePod, type LivePod } from "../session/live-pod.ts";
import { coverHome } from "./cover-home.ts";
import type { HomeFilling } from "./create-home-filling.ts";
import type { PodCopy } from "./create-pod-copy.ts";
import { hideCovers } from "./find-kinds.ts";
import { readHomeCovers, type ShownPlace } from "./read-home-covers.ts";

/** The files of a session in its Pod. */
export type PreparedFiles = ShownPlace & {
  readonly copy: Pick<PodCopy, "findCovers">;
  readonly filling: Pick<HomeFilling, "fill">;
  readonly signal: AbortSignal;
};

/** Brings the home and the copy to where a command may begin. Once it rejects, nothing of it is still at work. */
export async function prepareFiles(
  live: LivePod,
  command: Command,
  { copy, filling, shownPath, signal }: PreparedFiles,
): Promise<void> {
  const work = [
    copy.findCovers(live, command, signal),
    readHomeCovers(command, { shownPath }),
    filling.fill(command, signal),
  ] as const;
  await Promise.allSettled(work);
  try {
    const [covers, ofHome] = await Promise.all(work);
    await coverHome(live.wire, ofHome, { signal });
    await hideCovers(live.wire, covers, signal);
  } catch (error) {
    throw namePod(live, error);
  }
}
