import { posix } from "node:path";
import { BudgieError } from "@budgie/core";
import { SANDBOX } from "@budgie/sandbox/profile";
import { timeLimit } from "../engine/with-timeout.ts";
import { imageNotFound, statusOf, toBudgieError } from "../engine/to-budgie-error.ts";
import type { Endpoint } from "../engine/find-endpoints.ts";
import { getJson } from "../engine/request-engine.ts";
import { parseImageTools } from "./parse-image-tools.ts";

/** The folder of the agents' programs, in the image of `budgie build-image` and beside other images. */
export const PROGRAMS = SANDBOX.programs;

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
  /** The start of its own command line; empty for none */
  readonly entrypoint: readonly string[];
  /** The rest of that; empty for none */
  readonly command: readonly string[];
  /** The tools that its label and variables name */
  readonly tools: readonly string[];
  /** The names of its variables that would direct an agent, or the programs that it starts */
  readonly strayVariables: readonly string[];
  /** The folder in which its `KIRO_RUNTIME_DIR` says that Kiro's V3 is unpacked; `undefined` if it has no such variable */
  readonly runtimeDir: string | undefined;
  /** True if the agents' programs are in one folder, from which they run in other images too */
  readonly hasPrograms: boolean;
  /** True if its configuration is like that of the original's Dockerfile, in whose images only root could reach the agents' program */
  readonly isLikeOriginals: boolean;
};

type InspectedImage = {
  readonly Id: string;
  readonly Created: string;
  readonly Os?: string;
  readonly Architecture?: string;
  readonly Config?: {
    readonly Entrypoint?: readonly string[] | null;
    readonly Cmd?: readonly string[] | null;
    readonly WorkingDir?: string;
    readonly Env?: readonly string[] | null;
    readonly Volumes?: Readonly<Record<string, unknown>> | null;
    readonly Labels?: Readonly<Record<string, unknown>> | null;
  };
};

// The default of engines for an image without a PATH.
const USUAL_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** Finds an image by name or id, or throws `IMAGE_NOT_FOUND`. It never pulls: only images that the user put on the engine run. */
export async function findImage({ endpoint }: { readonly endpoint: Endpoint }, name: string): Promise<SandboxImage> {
  const facts = await inspectImage(endpoint, name);
  const { Env, Labels, Volumes } = facts.Config ?? {};
  const volumes = Object.keys(Volumes ?? {}).map((path) => posix.join("/", path, ".").replace(/(?<=.)\/$/, ""));
  refuseVolumes(name, volumes);
  const valueOf = (variable: string): string | undefined =>
    Env?.find((one) => one.startsWith(`${variable}=`))?.slice(variable.length + 1);
  return {
    id: facts.Id,
    name,
    created: new Date(facts.Created),
    platform: `${facts.Os ?? "unknown"}/${facts.Architecture ?? "unknown"}`,
    path: valueOf("PATH") ?? USUAL_PATH,
    volumes,
    ...findCommand(facts),
    tools: parseImageTools(facts.Config ?? {}),
    strayVariables: findStrayVariables(facts),
    runtimeDir: valueOf("KIRO_RUNTIME_DIR"),
    hasPrograms: Labels?.["dev.budgie.programs"] === PROGRAMS,
    isLikeOriginals: isLikeOriginals(facts),
  };
}

function findCommand({ Config }: InspectedImage): Pick<SandboxImage, "command" | "entrypoint"> {
  return { entrypoint: Config?.Entrypoint ?? [], command: Config?.Cmd ?? [] };
}

/** Returns the names of variables for Kiro, for the dynamic linker, for every Node, and for a network that the sandbox does not have. */
function findStrayVariables({ Config }: InspectedImage): readonly string[] {
  const names = (Config?.Env ?? []).map((variable) => variable.split("=", 1)[0] ?? "");
  return names.filter((name) => /^(?:KIRO_|LD_)|^NODE_OPTIONS$|_PROXY$/i.test(name));
}

function isLikeOriginals({ Config }: InspectedImage): boolean {
  return Config?.WorkingDir === "/workspace" && Config.Entrypoint?.join(" ") === "/entrypoint.sh";
}

async function inspectImage({ address }: Endpoint, name: string): Promise<InspectedImage> {
  try {
    return await getJson<InspectedImage>(address, `/images/${encodeURI(name)}/json`, timeLimit().abortSignal);
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
