import { posix } from "node:path";
import { BudgieError } from "@budgie/core";
import { timeLimit } from "../engine/time-limits.ts";
import { imageNotFound, statusOf, toBudgieError } from "../engine/docker-errors.ts";
import type { Endpoint } from "../engine/find-engine.ts";
import { getJson } from "../engine/engine-http.ts";

/** An image on the engine. */
export type SandboxImage = {
  readonly id: string;
  readonly name: string;
  readonly created: Date;
  /** In Go's names, such as `linux/amd64` */
  readonly platform: string;
  /** The image's `PATH` */
  readonly path: string;
  /** The paths that its configuration declares as volumes, normalized */
  readonly volumes: readonly string[];
  /** True if its configuration is like that of the original's Dockerfile, in whose images only root could reach the agents' program */
  readonly isLikeOriginals: boolean;
};

type Facts = {
  readonly Id: string;
  readonly Created: string;
  readonly Os?: string;
  readonly Architecture?: string;
  readonly Config?: {
    readonly Entrypoint?: readonly string[] | null;
    readonly WorkingDir?: string;
    readonly Env?: readonly string[] | null;
    readonly Volumes?: Readonly<Record<string, unknown>> | null;
  };
};

// The default of engines for an image without a PATH.
const USUAL_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** Finds an image by name or id, or throws `IMAGE_NOT_FOUND`. It never pulls: only images that the user put on the engine run. */
export async function findImage({ endpoint }: { readonly endpoint: Endpoint }, name: string): Promise<SandboxImage> {
  const facts = await inspectImage(endpoint, name);
  const volumes = Object.keys(facts.Config?.Volumes ?? {}).map((path) =>
    posix.join("/", path, ".").replace(/(?<=.)\/$/, ""),
  );
  refuseVolumes(name, volumes);
  const path = facts.Config?.Env?.find((variable) => variable.startsWith("PATH="))?.slice("PATH=".length);
  return {
    id: facts.Id,
    name,
    created: new Date(facts.Created),
    platform: `${facts.Os ?? "unknown"}/${facts.Architecture ?? "unknown"}`,
    path: path ?? USUAL_PATH,
    volumes,
    isLikeOriginals: isLikeOriginals(facts),
  };
}

function isLikeOriginals({ Config }: Facts): boolean {
  return Config?.WorkingDir === "/workspace" && Config.Entrypoint?.join(" ") === "/entrypoint.sh";
}

async function inspectImage({ address }: Endpoint, name: string): Promise<Facts> {
  try {
    return await getJson<Facts>(address, `/images/${encodeURI(name)}/json`, timeLimit().abortSignal);
  } catch (error) {
    // 400: the name is invalid.
    throw [400, 404].includes(statusOf(error) ?? 0) ? imageNotFound(name, error) : toBudgieError(error, name);
  }
}

/**
 * Throws if an image declares a volume over a session's mounts: it would be new in each container, and cover the home or create a folder in
 * the user's repository.
 */
function refuseVolumes(image: string, volumes: readonly string[]): void {
  const bad = volumes.find((path) => /^\/home\/agent(?:\/|$)|^\/(?:workspace|auth)\/./.test(posix.normalize(path)));
  if (bad === undefined) return;
  throw new BudgieError(
    "CONFIG_INVALID",
    `The sandbox image "${image}" declares a volume at "${bad}", where budgie keeps a session. Build it without that VOLUME.`,
  );
}
