import type Docker from "dockerode";
import type { GcPolicy } from "@budgie/core";
import { PROGRAMS_LABEL } from "../image/find-programs.ts";
import { timeLimit } from "../engine/with-timeout.ts";
import { collect, type createReport } from "./collect-garbage.ts";
import { removeVolume } from "../session/remove-volume.ts";

/** Removes the volumes with programs of images that are gone, or that no name leads to any more, unless a container uses them. */
export async function removePrograms(
  docker: Docker,
  report: ReturnType<typeof createReport>,
  policy: Pick<GcPolicy, "dryRun">,
): Promise<void> {
  const { Volumes } = await docker.listVolumes({ filters: { label: [PROGRAMS_LABEL] }, ...timeLimit() });
  if (Volumes.length === 0) return;
  const images = await docker.listImages(timeLimit());
  const named = new Set(images.filter(hasName).map(({ Id }) => Id));
  for (const { Labels, Name: name } of Volumes) {
    const id = Labels?.[PROGRAMS_LABEL];
    if (id === undefined || named.has(id)) continue;
    const item = { kind: "volume" as const, name, session: undefined };
    await collect(
      { item, remove: () => removeVolume(docker.getVolume(name)) },
      { report, why: undefined, dryRun: policy.dryRun },
    );
  }
}

function hasName({ RepoTags }: Docker.ImageInfo): boolean {
  return (RepoTags ?? []).some((name) => name !== "<none>:<none>");
}
