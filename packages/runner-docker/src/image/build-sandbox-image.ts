import type { Readable } from "node:stream";
import type Docker from "dockerode";
import { connectEngine } from "../engine/engine.ts";
import type { HostEnvironment } from "../engine/find-engine.ts";

export type BuildOptions = {
  /** The image's name */
  readonly tag: string;
  /** The folder that holds the Dockerfile and `docker/`; nothing else in it is sent */
  readonly contextDir: string;
  /** The Dockerfile's name in that folder */
  readonly dockerfile: string;
  readonly buildArgs: Readonly<Record<string, string>>;
  /** The network of the build's containers, such as `host`; default the engine's own */
  readonly network?: string | undefined;
  readonly home: string;
  readonly hostEnv: HostEnvironment;
  /** Called with each line that the build prints */
  readonly onProgress: (line: string) => void;
};

type BuildEvent = { readonly stream?: string; readonly error?: string; readonly status?: string };

/** The id of a built image, or the last error of a build that failed. */
export type Built =
  | { readonly imageId: string; readonly failure?: undefined }
  | { readonly imageId?: undefined; readonly failure: string };

/** Builds the sandbox image on the user's engine. Throws `RUNNER_UNAVAILABLE` if there is none. */
export async function buildSandboxImage(options: BuildOptions): Promise<Built> {
  const { docker } = await connectEngine(options.hostEnv, options.home);
  // Imported late: a server never needs it.
  const { pack } = await import("tar-fs");
  const { buildArgs, dockerfile, network, tag } = options;
  // The checkout's times and owners would defeat the engine's cache.
  const context = pack(options.contextDir, {
    entries: [dockerfile, "docker"],
    map: (header) => Object.assign(header, { uid: 0, gid: 0, mtime: new Date(0) }),
  });
  const place = network === undefined ? {} : { networkmode: network };
  const how = { t: tag, dockerfile, buildargs: { ...buildArgs }, rm: true, forcerm: true, ...place };
  try {
    const stream = await docker.buildImage(context as unknown as NodeJS.ReadableStream, how);
    const failure = await follow(docker, stream as Readable, options.onProgress);
    if (failure !== undefined) return { failure: failure.trim() };
    return { imageId: (await docker.getImage(tag).inspect()).Id };
  } catch (cause) {
    return { failure: (cause instanceof Error ? cause.message : String(cause)).trim() };
  }
}

/** Follows the build to its end, and returns its error. A failed build ends its stream without an error: only the last event reports it. */
async function follow(
  docker: Docker,
  stream: Readable,
  onProgress: BuildOptions["onProgress"],
): Promise<string | undefined> {
  let begun = "";
  const tell = (text: string): void => {
    const lines = (begun + text).split("\n");
    begun = lines.pop() ?? "";
    for (const line of lines.map((each) => each.trimEnd())) if (line !== "") onProgress(line);
  };
  const events = await new Promise<readonly BuildEvent[]>((resolve, reject) => {
    docker.modem.followProgress(
      stream,
      (error: Error | null, all: BuildEvent[]) => (error ? reject(error) : resolve(all)),
      (event: BuildEvent) => {
        // An event contains several lines of a command's output, or a part of one.
        tell(event.stream ?? `${event.status ?? ""}\n`);
      },
    );
  });
  tell("\n");
  return events.find((event) => event.error !== undefined)?.error;
}
