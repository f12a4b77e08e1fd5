import { createHash } from "node:crypto";
import { hostname } from "node:os";
import type { Readable } from "node:stream";
import { pack } from "tar-stream";
import { chooseDefaultLimits } from "@budgie/core/policy";
import { connectEngine, type Engine } from "../engine/engine.ts";
import type { HostEnvironment } from "../engine/find-endpoints.ts";
import { statusOf } from "../engine/to-budgie-error.ts";
import { timeLimit } from "../engine/with-timeout.ts";
import type { Built } from "./build-sandbox-image.ts";
import { followBuild } from "./follow-build.ts";

export type ProjectBuild = {
  /** The hash of all that it is built from */
  readonly key: string;
  /** The files of the context, the Dockerfile included: nothing else is sent */
  readonly context: readonly { readonly path: string; readonly bytes: Buffer; readonly isExecutable: boolean }[];
  /** The Dockerfile's path in the context */
  readonly dockerfile: string;
  readonly args: Readonly<Record<string, string>>;
  /** The stage; default the last one */
  readonly target: string | undefined;
  /** Certificates in PEM that the build's steps trust besides the public ones; the image does not trust them */
  readonly certificates?: string | undefined;
  /** The image that this one replaces, by id; it is removed unless something uses it */
  readonly replaces: string | undefined;
  readonly timeoutMs: number;
  readonly stateDir: string;
  readonly home: string;
  readonly hostEnv: HostEnvironment;
  /** Called with each line that the build prints */
  readonly onProgress: (line: string) => void;
};

/** The name of all images of projects; their tags are keys. */
export const PROJECT_IMAGES = "budgie-project";

/**
 * Builds the image of a project on the user's engine, in containers of the engine's own network, with limits, and without secrets, mounts and
 * logins. Throws `RUNNER_UNAVAILABLE` if there is no engine.
 */
export async function buildProjectImage(given: ProjectBuild): Promise<Built> {
  const build = given.certificates === undefined ? given : await addCertificates(given, given.certificates);
  const engine = await connectEngine(build.hostEnv, build.home);
  const { docker } = engine;
  const tag = `${PROJECT_IMAGES}:${build.key}`;
  const signal = AbortSignal.timeout(build.timeoutMs);
  try {
    const stream = await docker.buildImage(packContext(build), {
      ...toOptions(build, engine, tag),
      abortSignal: signal,
    });
    const failure = await followBuild(stream as Readable, build.onProgress);
    if (failure !== undefined) return { failure: failure.trim() };
    const imageId = (await docker.getImage(tag).inspect()).Id;
    if (build.replaces !== undefined && build.replaces !== imageId) await removeReplaced(engine, build.replaces);
    return { imageId };
  } catch (cause) {
    if (signal.aborted) return { failure: `it took longer than ${Math.round(build.timeoutMs / 60_000)} minutes` };
    return { failure: (cause instanceof Error ? cause.message : String(cause)).trim() };
  }
}

/** Returns the ids of images that the user's engine has, by name. Throws `RUNNER_UNAVAILABLE` if there is no engine. */
export async function findImageIds(
  names: readonly string[],
  { home, hostEnv }: Pick<ProjectBuild, "home" | "hostEnv">,
): Promise<Readonly<Record<string, string>>> {
  const { docker } = await connectEngine(hostEnv, home);
  const found = await Promise.all(
    names.map(async (name) => {
      const facts = await docker
        .getImage(name)
        .inspect()
        .catch(() => undefined);
      return facts === undefined ? [] : [[name, facts.Id] as const];
    }),
  );
  return Object.fromEntries(found.flat());
}

async function addCertificates(build: ProjectBuild, certificates: string): Promise<ProjectBuild> {
  // Imported here since it loads TLS, which a server that only lists its tools does not need.
  const { trustInProject } = await import("./trust-in-build.ts");
  const { args, context, dockerfile: name, key } = build;
  const text = context.find(({ path }) => path === name)?.bytes.toString("utf8") ?? "";
  const { buildArgs, dockerfile, files } = trustInProject(certificates, text, key);
  const own = context.filter(({ path }) => path !== name);
  const added = Object.entries({ ...files, [name]: dockerfile });
  const made = added.map(([path, content]) => ({ path, bytes: Buffer.from(content), isExecutable: false }));
  return { ...build, args: { ...buildArgs, ...args }, context: [...own, ...made] };
}

function toOptions(
  { args, dockerfile, key, stateDir, target }: ProjectBuild,
  { cpus, memoryBytes }: Engine,
  tag: string,
) {
  const limits = chooseDefaultLimits(cpus);
  const memory = Math.min(limits.memoryBytes, memoryBytes);
  return {
    t: tag,
    dockerfile,
    buildargs: { ...args },
    ...(target === undefined ? {} : { target }),
    // The builder that knows no mounts, secrets, ssh or frontends.
    version: "1" as const,
    networkmode: "default",
    memory,
    memswap: memory,
    cpuperiod: CPU_PERIOD,
    cpuquota: Math.round(limits.cpus * CPU_PERIOD),
    rm: true,
    forcerm: true,
    labels: { [KEY_LABEL]: key, [STATE_LABEL]: toStateLabel(stateDir) },
  };
}

// Microseconds, as the kernel's default.
const CPU_PERIOD = 100_000;

// Containers inherit the labels of their image, so none begins like those of budgie's containers.
const KEY_LABEL = "dev.budgie-image.key";

/** The label by which a budgie knows the images that it built. */
export const STATE_LABEL = "dev.budgie-image.state";

/** Returns what tells the images of one state directory from those of others on the same engine. */
export function toStateLabel(stateDir: string): string {
  return createHash("sha256")
    .update(JSON.stringify([hostname(), stateDir]))
    .digest("hex")
    .slice(0, 32);
}

function packContext({ context }: ProjectBuild): NodeJS.ReadableStream {
  const archive = pack();
  // Times and owners would defeat the engine's cache.
  for (const { bytes, isExecutable, path } of context) {
    archive.entry({ name: path, mode: isExecutable ? 0o755 : 0o644, uid: 0, gid: 0, mtime: new Date(0) }, bytes);
  }
  archive.finalize();
  return archive as unknown as NodeJS.ReadableStream;
}

async function removeReplaced({ docker }: Engine, id: string): Promise<void> {
  try {
    await docker.getImage(id).remove(timeLimit());
  } catch (error) {
    // 409: a container or another name still uses it.
    if (![404, 409].includes(statusOf(error) ?? 0)) throw error;
  }
}
