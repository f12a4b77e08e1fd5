import type { Readable } from "node:stream";
import type Docker from "dockerode";
import { pack } from "tar-fs";
import { BudgieError } from "@budgie/core";
import { connectEngine } from "../engine/engine.ts";
import type { HostEnvironment } from "../engine/find-engine.ts";

export type BuildOptions = {
  /** The image's name */
  readonly tag: string;
  /** The folder of `Dockerfile` and `docker/`; nothing else in it is sent */
  readonly contextDir: string;
  readonly buildArgs: Readonly<Record<string, string>>;
  readonly home: string;
  readonly hostEnv: HostEnvironment;
  /** Called with each line that the build prints */
  readonly onProgress: (line: string) => void;
};

type BuildEvent = { readonly stream?: string; readonly error?: string; readonly status?: string };

/** Builds the sandbox image on the user's engine. Throws `CONFIG_INVALID` with the build's last error. */
export async function buildSandboxImage(options: BuildOptions): Promise<{ readonly imageId: string }> {
  const { docker } = await connectEngine(options.hostEnv, options.home);
  // The checkout's times and owners would defeat the engine's cache.
  const context = pack(options.contextDir, {
    entries: ["Dockerfile", "docker"],
    map: (header) => Object.assign(header, { uid: 0, gid: 0, mtime: new Date(0) }),
  });
  const { buildArgs, tag } = options;
  const stream = await docker
    .buildImage(context as unknown as NodeJS.ReadableStream, {
      t: tag,
      buildargs: { ...buildArgs },
      rm: true,
      forcerm: true,
    })
    .catch((cause: unknown) => {
      throw buildFailed(cause instanceof Error ? cause.message : String(cause), cause);
    });
  await follow(docker, stream as Readable, options.onProgress);
  const { Id } = await docker.getImage(tag).inspect();
  return { imageId: Id };
}

/** Follows the build to its end. A failed build ends its stream without an error: only the last event reports it. */
async function follow(docker: Docker, stream: Readable, onProgress: BuildOptions["onProgress"]): Promise<void> {
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
  const failure = events.find((event) => event.error !== undefined);
  if (failure?.error !== undefined) throw buildFailed(failure.error);
}

function buildFailed(reason: string, cause?: unknown): BudgieError {
  return new BudgieError("CONFIG_INVALID", `The sandbox image was not built: ${reason.trim()}`, { cause });
}
