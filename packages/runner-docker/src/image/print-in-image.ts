import { randomUUID } from "node:crypto";
import { PassThrough } from "node:stream";
import { BudgieError, type Command } from "@budgie/core";
import type { OwnerRecord } from "@budgie/core/owners";
import { readBounded } from "@budgie/core/protocol";
import type { VolumeMount } from "@budgie/sandbox/mounts";
import type { SandboxUser } from "@budgie/sandbox/profile";
import { attach } from "../engine/attach.ts";
import { createContainer } from "../engine/create-container.ts";
import { demultiplex } from "../engine/demultiplex.ts";
import { toBudgieError } from "../engine/to-budgie-error.ts";
import type { Engine } from "../engine/engine.ts";
import { toLabels } from "../engine/to-labels.ts";
import { removeContainer } from "../engine/remove-container.ts";
import { timeLimit, withTimeout } from "../engine/with-timeout.ts";
import { toPrintingContainer } from "../sandbox/container-options.ts";
import { ensureSeccomp } from "../sandbox/ensure-seccomp.ts";
import type { SandboxImage } from "./find-image.ts";

export type Printing = {
  readonly image: Pick<SandboxImage, "id" | "name">;
  readonly command: Command["argv"];
  readonly user: SandboxUser;
  /** The owner of the container, should it be left behind */
  readonly owner: OwnerRecord;
  /** The folder of the seccomp profile's file, which Podman needs */
  readonly stateDir: string;
  /** `undefined` for the engine's default */
  readonly runtime?: string | undefined;
  /** Mounts besides `/tmp`; default none */
  readonly mounts?: readonly VolumeMount[] | undefined;
  /** The program's `PATH`; default the image's */
  readonly path?: string | undefined;
  /** Time after which the program is stopped; default 20 s */
  readonly limitMs?: number | undefined;
  /** Ends it early */
  readonly signal?: AbortSignal | undefined;
};

/** The programs of one image that print. */
export type Printer = {
  /** Runs a program and returns its stdout, as {@link printInImage} does */
  readonly print: (command: Command["argv"]) => Promise<string>;
  /** Ends all programs. Resolves once their containers are removed. */
  readonly close: () => Promise<unknown>;
};

/** Creates a printer of an image. */
export function createPrinter(engine: Engine, options: Omit<Printing, "command" | "signal">): Printer {
  const closed = new AbortController();
  const running = new Set<Promise<unknown>>();
  return {
    print(command) {
      const printed = printInImage(engine, { ...options, command, signal: closed.signal });
      const ended = printed.catch(() => undefined).finally(() => running.delete(ended));
      running.add(ended);
      return printed;
    },
    close() {
      closed.abort(new BudgieError("CANCELLED", "budgie is shutting down."));
      return Promise.all(running);
    },
  };
}

const LIMIT_MS = 20_000;
const HELD_BYTES = 128 * 1024;

/**
 * Runs a program of an image in a container of its own, and returns what it prints to stdout, without the middle of a long output. The
 * container is removed before that.
 */
export async function printInImage(engine: Engine, printing: Printing): Promise<string> {
  const { command, image, limitMs = LIMIT_MS, mounts = [], owner, path, runtime, stateDir, user } = printing;
  try {
    const labels = toLabels(owner, "", "reader");
    const seccomp = ensureSeccomp(engine, stateDir);
    const body = toPrintingContainer({ imageId: image.id, user, command, labels, mounts, path, runtime, seccomp });
    const container = await createContainer(engine, `budgie-print-${randomUUID().slice(0, 8)}`, body);
    try {
      return await read(engine, container, { limitMs, signal: printing.signal });
    } finally {
      await engine.pendingRemovals.remove(() => removeContainer(container)).firstAttempt;
    }
  } catch (error) {
    throw toBudgieError(error, image.name);
  }
}

type Container = Awaited<ReturnType<typeof createContainer>>;

type Reading = { readonly limitMs: number; readonly signal: AbortSignal | undefined };

async function read(engine: Engine, container: Container, { limitMs, signal }: Reading): Promise<string> {
  signal?.throwIfAborted();
  const socket = await attach(engine.endpoint.address, container.id);
  const end = (): void => void socket.destroy();
  signal?.addEventListener("abort", end, { once: true });
  try {
    const [stdout, stderr] = [new PassThrough(), new PassThrough().resume()];
    void demultiplex(socket, { stdout, stderr, dropping: new AbortController().signal });
    await container.start(timeLimit());
    const { text } = await withTimeout(readBounded(stdout, { heldBytes: HELD_BYTES }), limitMs);
    signal?.throwIfAborted();
    return text;
  } finally {
    signal?.removeEventListener("abort", end);
    socket.destroy();
  }
}
