import type Docker from "dockerode";
import type { GcPolicy } from "@budgie/core";
import { PROJECT_IMAGES, STATE_LABEL, toStateLabel } from "../image/build-project-image.ts";
import { statusOf } from "../engine/to-budgie-error.ts";
import { timeLimit } from "../engine/with-timeout.ts";
import { collect, type createReport } from "./collect-garbage.ts";

type Removing = {
  readonly stateDir: string;
  /** The ids of the images that approvals name */
  readonly keep: readonly string[];
  readonly policy: Pick<GcPolicy, "dryRun" | "olderThanMs">;
};

/** Removes the images that this state directory's budgie built for projects, and that no approval names, unless a container uses them. */
export async function removeProjectImages(
  docker: Docker,
  report: ReturnType<typeof createReport>,
  { keep, policy, stateDir }: Removing,
): Promise<void> {
  const filters = { label: [`${STATE_LABEL}=${toStateLabel(stateDir)}`] };
  for (const { Created, Id, RepoTags } of await docker.listImages({ filters, ...timeLimit() })) {
    if (keep.includes(Id)) continue;
    const isYoung = Date.now() - Created * 1000 < policy.olderThanMs;
    // Other names are of images that a user made of one, and inherit its label.
    for (const name of (RepoTags ?? []).filter((tag) => tag.startsWith(`${PROJECT_IMAGES}:`))) {
      const item = { kind: "image" as const, name, session: undefined };
      const remove = (): Promise<string | undefined> => removeName(docker, name);
      await collect(
        { item, remove },
        { report, why: isYoung ? "it is younger than asked for" : undefined, dryRun: policy.dryRun },
      );
    }
  }
}

async function removeName(docker: Docker, name: string): Promise<string | undefined> {
  try {
    await docker.getImage(name).remove(timeLimit());
  } catch (error) {
    if (statusOf(error) === 409) return "a container uses it";
    if (statusOf(error) !== 404) throw error;
  }
  return undefined;
}
