import { randomUUID } from "node:crypto";
import { dirname, join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import type Docker from "dockerode";
import { createSessionId, type RunnerSession, type SessionId } from "@budgie/core";
import type { DockerTarget } from "../../src/docker/docker-target.ts";
import type { OpenOptions } from "../../src/lab/lab.ts";
import { demultiplex } from "../../../runner-docker/src/engine/demultiplex.ts";
import { connectEngine } from "../../../runner-docker/src/engine/engine.ts";
import { BASE_IMAGE } from "../../../runner-docker/test/helpers/docker-place.ts";
import { ENGINE } from "./describe-claims.ts";

/** Opens a session without budgie's runner: the engine mounts the sources as named, and nothing verifies them. */
export async function openRawSession({ id, target }: OpenOptions = {}): Promise<RunnerSession> {
  const { hostEnv } = (target as DockerTarget | undefined) ?? ENGINE;
  const { docker } = await connectEngine(hostEnv, ENGINE.home);
  return {
    id: id ?? createSessionId(),
    paths: () => ({ workspace: "/workspace", home: "/home/agent" }),
    async start({ argv }, { directory, protectedPaths = [] }) {
      const stdout = await runRaw(docker, argv, [
        { Type: "bind", Source: directory, Target: "/workspace" },
        ...protectedPaths.flatMap((path) => toProtecting(directory, path)),
        // Only an existing volume: the engine would create a missing one, and nothing would remove it.
        ...(id === undefined ? [] : [toHomeMount(id)]),
      ]);
      const exit = { exitCode: 0, signal: undefined, reason: undefined, oomKilled: false };
      return {
        stdin: new Readable() as never,
        stdout: Readable.from([stdout]),
        stderr: Readable.from([]),
        exit: Promise.resolve(exit),
        stop: () => Promise.resolve(),
      };
    },
    readFile: () => Promise.resolve(undefined),
    appendFile: () => Promise.resolve(),
    remove: () => Promise.resolve(),
  };
}

/** Returns the read-only mount of a path, and a mount of its parent folder. */
function toProtecting(directory: string, path: string): Docker.MountSettings[] {
  return [dirname(path), path].map((part) => ({
    Type: "bind",
    Source: join(directory, part),
    Target: `/workspace/${part}`,
    ReadOnly: part === path,
  }));
}

function toHomeMount(id: SessionId): Docker.MountSettings {
  return { Type: "volume", Source: `budgie-session-${id}`, Target: "/home" };
}

/** Creates a plain container of the caller's user, which is removed on disposal. */
export async function createRawContainer(docker: Docker, options: Docker.ContainerCreateOptions) {
  const container = await docker.createContainer({
    name: `budgie-raw-${randomUUID()}`,
    Image: BASE_IMAGE,
    Cmd: ["true"],
    User: `${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}`,
    WorkingDir: "/workspace",
    ...options,
    Env: ["HOME=/home/agent", ...(options.Env ?? [])],
  });
  return { container, [Symbol.asyncDispose]: async () => void (await container.remove({ force: true })) };
}

async function runRaw(docker: Docker, argv: readonly string[], mounts: Docker.MountSettings[]): Promise<string> {
  await using raw = await createRawContainer(docker, { Cmd: [...argv], HostConfig: { Mounts: mounts } });
  await raw.container.start();
  await raw.container.wait();
  // The log is complete. The end of a terminal's output, or of a late attach, is sometimes lost.
  const said = Readable.from([await raw.container.logs({ stdout: true })]);
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const { signal: dropping } = new AbortController();
  const [output] = await Promise.all([text(stdout), demultiplex(said, { stdout, stderr, dropping })]);
  return output;
}
