import type { GcItem, GcPolicy, GcReport, Owner } from "@budgie/core";
import { connectEngine } from "../engine/engine.ts";
import type { HostEnvironment } from "../engine/find-endpoints.ts";
import { collect, collectGarbage, createReport } from "./collect-garbage.ts";
import { findLegacyVolumes } from "./find-legacy-volumes.ts";
import { removeCaches } from "./remove-caches.ts";
import { removePrograms } from "./remove-programs.ts";
import { removeProjectImages } from "./remove-project-images.ts";

export type CollectOptions = {
  readonly owner: Owner;
  readonly stateDir: string;
  readonly home: string;
  readonly hostEnv: HostEnvironment;
  readonly policy: GcPolicy;
  /** Also removes the volumes that the original program, in Go, left */
  readonly legacy?: boolean | undefined;
  /** The ids of the images of projects that stay; default: all of them */
  readonly keepImages?: readonly string[] | undefined;
};

export type CollectReport = GcReport & {
  /** The volumes that the original program left, unless `legacy` was set */
  readonly legacy: readonly GcItem[];
};

/** Removes the garbage of dead owners from the user's engine; needs no image. Throws `RUNNER_UNAVAILABLE` if there is no engine. */
export async function collectDockerGarbage(options: CollectOptions): Promise<CollectReport> {
  const { keepImages: keep, legacy = false, owner, policy, stateDir } = options;
  const { docker } = await connectEngine(options.hostEnv, options.home);
  const ours = await collectGarbage(docker, owner, { ...policy, stateDir });
  const volumes = await findLegacyVolumes(docker);
  const report = createReport();
  if (keep !== undefined) await removeProjectImages(docker, report, { keep, policy, stateDir });
  await removePrograms(docker, report, policy);
  await removeCaches(docker, report, { policy, stateDir });
  for (const volume of legacy ? volumes : []) {
    await collect(volume, { report, why: volume.reasonToKeep(policy), dryRun: policy.dryRun });
  }
  return {
    removed: [...ours.removed, ...report.removed],
    kept: [...ours.kept, ...report.kept],
    failed: [...ours.failed, ...report.failed],
    legacy: legacy ? [] : volumes.map(({ item }) => item),
  };
}
