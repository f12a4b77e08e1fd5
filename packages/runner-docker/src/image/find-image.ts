import { posix } from "node:path";
import { BudgieError } from "@budgie/core";
import { withLimit } from "../engine/time-limits.ts";
import { imageNotFound, statusOf, toBudgieError } from "../engine/docker-errors.ts";
import type { Engine } from "../engine/engine.ts";
import type { Endpoint } from "../engine/find-engine.ts";
import { getJson } from "../engine/engine-http.ts";

/** An image that is on the engine. */
export type SandboxImage = {
  readonly id: string;
  readonly name: string;
  readonly created: Date;
  /** As the engine's */
  readonly platform: string;
  /** Where its programs are looked for */
  readonly path: string;
};

type Facts = {
  readonly Id: string;
  readonly Created: string;
  readonly Os?: string;
  readonly Architecture?: string;
  readonly Config?: {
    readonly Env?: readonly string[] | null;
    readonly Volumes?: Readonly<Record<string, unknown>> | null;
  };
};

// What engines set for an image that sets none.
const USUAL_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** Finds an image by name or id, or throws `IMAGE_NOT_FOUND`. Nothing is pulled: what runs is what the user put there. */
export async function findImage({ endpoint }: Pick<Engine, "endpoint">, name: string): Promise<SandboxImage> {
  const facts = await inspectImage(endpoint, name);
  refuseVolumes(name, Object.keys(facts.Config?.Volumes ?? {}));
  const path = facts.Config?.Env?.find((variable) => variable.startsWith("PATH="))?.slice("PATH=".length);
  return {
    id: facts.Id,
    name,
    created: new Date(facts.Created),
    platform: `${facts.Os ?? "unknown"}/${facts.Architecture ?? "unknown"}`,
    path: path ?? USUAL_PATH,
  };
}

async function inspectImage({ address }: Endpoint, name: string): Promise<Facts> {
  try {
    return await getJson<Facts>(address, `/images/${encodeURI(name)}/json`, withLimit().abortSignal);
  } catch (error) {
    // 400: it could not even be a name.
    throw [400, 404].includes(statusOf(error) ?? 0) ? imageNotFound(name, error) : toBudgieError(error, name);
  }
}

/** Such a volume is a new one in each container: it would cover a session's home, or make a folder in the user's repository. */
function refuseVolumes(image: string, volumes: readonly string[]): void {
  const bad = volumes.find((path) => /^\/home\/agent(?:\/|$)|^\/(?:workspace|auth)\/./.test(posix.normalize(path)));
  if (bad === undefined) return;
  throw new BudgieError(
    "CONFIG_INVALID",
    `The sandbox image "${image}" declares a volume at "${bad}", where budgie keeps a session. Build it without that VOLUME.`,
  );
}
