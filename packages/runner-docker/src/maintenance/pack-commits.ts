import { randomBytes } from "node:crypto";
import { PassThrough, Transform, type Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type Docker from "dockerode";
import { BudgieError, type Owner, type SessionId } from "@budgie/core";
import { readBounded } from "@budgie/core/protocol";
import { escapeForTerminal } from "@budgie/core/text";
import { chooseSandboxUser } from "@budgie/sandbox/profile";
import { attach } from "../engine/attach.ts";
import { createContainer } from "../engine/create-container.ts";
import { demultiplex } from "../engine/demultiplex.ts";
import { connectEngine, type Engine } from "../engine/engine.ts";
import { isCopyOf } from "../bases/overlay-volume.ts";
import type { HostEnvironment } from "../engine/find-endpoints.ts";
import { isPlainVolume } from "../engine/find-own.ts";
import { removeContainer } from "../engine/remove-container.ts";
import { ignoreMissing, translated } from "../engine/to-budgie-error.ts";
import { parseLabels, toLabels } from "../engine/to-labels.ts";
import { timeLimit } from "../engine/with-timeout.ts";
import { findImage } from "../image/find-image.ts";
import { toPrintingContainer } from "../sandbox/container-options.ts";
import { ensureSeccomp } from "../sandbox/ensure-seccomp.ts";
import { volumeNames } from "../session/session-volumes.ts";
import { toCommitsPlace, type CommitsPlace, type Known } from "../session/to-commits-place.ts";

export type CommitsPacking = {
  /** The owner of the container in which git runs; the caller releases it */
  readonly owner: Owner;
  readonly stateDir: string;
  readonly home: string;
  readonly hostEnv: HostEnvironment;
  /** An image with git */
  readonly image: string;
  /** `undefined` for the engine's default */
  readonly runtime: string | undefined;
  readonly session: SessionId;
  readonly without: Known;
  readonly to: Writable;
  readonly signal: AbortSignal;
};

const LIMITS = { bytes: 1024 ** 3, timeMs: 10 * 60_000, errorBytes: 2048 };

/**
 * Writes the commits of a session's copy, or of its own git for a subfolder, as a git bundle. An agent wrote that repository, so git runs in a
 * container of its own that has it, read-only, and nothing else but the objects it needs; all of the output is the agent's word. Throws
 * `SESSION_NOT_FOUND` if the copy or the home is gone.
 */
export async function packCommits(packing: CommitsPacking): Promise<void> {
  const engine = await connectEngine(packing.hostEnv, packing.home);
  await packing.owner.hold();
  await translated(pack(engine, packing), packing.image);
}

async function pack(engine: Engine, packing: CommitsPacking): Promise<void> {
  const { owner, runtime, session, stateDir, without } = packing;
  const place = toCommitsPlace(session, without);
  await checkVolume(engine.docker, session, place);
  const image = await findImage(engine, packing.image);
  const body = toPrintingContainer({
    imageId: image.id,
    user: chooseSandboxUser({ uid: process.getuid?.(), gid: process.getgid?.() }, engine.users),
    command: place.command,
    labels: toLabels(owner.record, session, "reader"),
    mounts: place.mounts,
    runtime,
    seccomp: ensureSeccomp(engine, stateDir),
  });
  const container = await createContainer(engine, `budgie-bundle-${randomBytes(4).toString("hex")}`, body);
  try {
    await run(engine, container, packing);
  } finally {
    await engine.pendingRemovals.remove(() => removeContainer(container)).firstAttempt;
  }
}

/** Throws unless a volume is one that budgie made: the engine would make a missing one, and another could be any folder. */
async function checkVolume(docker: Docker, session: SessionId, { role }: CommitsPlace): Promise<void> {
  const found = await docker.getVolume(volumeNames(session)[role]).inspect(timeLimit()).catch(ignoreMissing);
  if (found && isOfSession(session, found, role) && !parseLabels(found.Labels).isMadeForMount) return;
  throw new BudgieError(
    "SESSION_NOT_FOUND",
    role === "copy"
      ? `The copy of session "${session}" is gone, and the commits in it. Its change sets can still be applied.`
      : `The home of session "${session}" is gone, and the commits in it.`,
  );
}

function isOfSession(session: SessionId, found: Docker.VolumeInspectInfo, role: CommitsPlace["role"]): boolean {
  if (role === "copy") return isCopyOf(session, found);
  const labels = parseLabels(found.Labels);
  return labels.role === "home" && labels.session === session && isPlainVolume(found);
}

async function run(engine: Engine, container: Docker.Container, { signal, to }: CommitsPacking): Promise<void> {
  const over = AbortSignal.any([signal, AbortSignal.timeout(LIMITS.timeMs)]);
  over.throwIfAborted();
  const socket = await attach(engine.endpoint.address, container.id);
  const end = (): void => void socket.destroy();
  over.addEventListener("abort", end, { once: true });
  try {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    void demultiplex(socket, { stdout, stderr, dropping: over });
    const errors = readBounded(stderr, { heldBytes: LIMITS.errorBytes });
    await container.start(timeLimit()).catch((error: unknown) => {
      throw toStartError(error);
    });
    await pipeline(stdout, createBound(), to, { signal: over });
    const { StatusCode: code } = (await container.wait(timeLimit())) as { readonly StatusCode: number };
    if (code !== 0) throw toGitError((await errors).text);
  } finally {
    over.removeEventListener("abort", end);
    socket.destroy();
  }
}

/** Creates a stream that ends with an error once an agent's git prints too much. */
function createBound(): Transform {
  let left = LIMITS.bytes;
  return new Transform({
    transform(piece: Buffer, _encoding, done) {
      left -= piece.length;
      if (left >= 0) return done(null, piece);
      done(new BudgieError("SESSION_UNUSABLE", `The commits take more than ${LIMITS.bytes / 1024 ** 3} GiB.`));
    },
  });
}

function toStartError(cause: unknown): unknown {
  const isMissing = cause instanceof Error && /executable file not found|no such file or directory/.test(cause.message);
  if (!isMissing) return cause;
  return new BudgieError(
    "CONFIG_INVALID",
    "The sandbox image has no git, which packs the commits. Name one with git.",
    {
      cause,
    },
  );
}

function toGitError(output: string): BudgieError {
  if (output.includes("empty bundle")) {
    return new BudgieError("INPUT_INVALID", "The session has no commits that the directory's repository lacks.");
  }
  const said = escapeForTerminal(output.trim().slice(-500));
  return new BudgieError("SESSION_UNUSABLE", `git cannot pack the session's commits: ${said}`);
}
