import { join } from "node:path";
import type { Readable } from "node:stream";
import { connectEngine } from "../engine/engine.ts";
import type { HostEnvironment } from "../engine/find-endpoints.ts";
import { followBuild } from "./follow-build.ts";

export type BuildOptions = {
  /** The image's name */
  readonly tag: string;
  /** The folder that holds the Dockerfile and `docker/`; nothing else in it is sent */
  readonly contextDir: string;
  /** The Dockerfile's name in that folder */
  readonly dockerfile: string;
  /** Certificates in PEM that the build's steps trust besides the public ones; the image does not trust them */
  readonly certificates?: string | undefined;
  readonly buildArgs: Readonly<Record<string, string>>;
  /** The network of the build's containers, such as `host`; default the engine's own */
  readonly network?: string | undefined;
  readonly home: string;
  readonly hostEnv: HostEnvironment;
  /** Called with each line that the build prints */
  readonly onProgress: (line: string) => void;
};

/** The id of a built image, or the last error of a build that failed. */
export type Built =
  | { readonly imageId: string; readonly failure?: undefined }
  | { readonly imageId?: undefined; readonly failure: string };

/** Builds the sandbox image on the user's engine. Throws `RUNNER_UNAVAILABLE` if there is none. */
export async function buildSandboxImage(options: BuildOptions): Promise<Built> {
  const { docker } = await connectEngine(options.hostEnv, options.home);
  // Imported late: a server never needs it.
  const [{ pack }, { trustInBuild }] = await Promise.all([import("tar-fs"), import("./trust-in-build.ts")]);
  const { certificates, contextDir, dockerfile, network, tag } = options;
  const trust = certificates === undefined ? undefined : trustInBuild(certificates, join(contextDir, dockerfile));
  const buildArgs = { ...trust?.buildArgs, ...options.buildArgs };
  const added = Object.entries(trust?.files ?? {});
  // The checkout's times and owners would defeat the engine's cache.
  const plain = { uid: 0, gid: 0, mtime: new Date(0) };
  const context = pack(contextDir, {
    entries: [dockerfile, "docker"],
    ignore: (path) => added.some(([name]) => join(contextDir, name) === path),
    map: (header) => Object.assign(header, plain),
    finalize: false,
    finish(archive) {
      for (const [name, text] of added) archive.entry({ name, mode: 0o644, ...plain }, text);
      archive.finalize();
    },
  });
  const place = network === undefined ? {} : { networkmode: network };
  const how = { t: tag, dockerfile, buildargs: buildArgs, rm: true, forcerm: true, ...place };
  try {
    const stream = await docker.buildImage(context as unknown as NodeJS.ReadableStream, how);
    const failure = await followBuild(stream as Readable, options.onProgress);
    if (failure !== undefined) return { failure: failure.trim() };
    return { imageId: (await docker.getImage(tag).inspect()).Id };
  } catch (cause) {
    return { failure: (cause instanceof Error ? cause.message : String(cause)).trim() };
  }
}
