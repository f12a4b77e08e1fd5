import { randomUUID } from "node:crypto";
import { BudgieError, createSessionId, type Owner } from "@budgie/core";
import type { OwnerRecord } from "@budgie/core/owners";
import type { VolumeMount } from "@budgie/sandbox/mounts";
import type { SandboxUser } from "@budgie/sandbox/profile";
import { createContainer } from "../engine/create-container.ts";
import { translated } from "../engine/to-budgie-error.ts";
import type { Engine } from "../engine/engine.ts";
import { toLabels } from "../engine/to-labels.ts";
import { removeContainer } from "../engine/remove-container.ts";
import { toIdleContainer } from "../sandbox/container-options.ts";
import type { SandboxImage } from "./find-image.ts";
import { findProgram } from "./find-program.ts";

export type AgentProgramQuestion = {
  readonly image: SandboxImage;
  /** A name, or an absolute path */
  readonly program: string;
  readonly user: SandboxUser;
  /** Volumes with programs; default none */
  readonly mounts?: readonly VolumeMount[] | undefined;
  /** The `PATH`; default the image's */
  readonly path?: string | undefined;
  /** The owner of the container, should it be left behind */
  readonly owner: OwnerRecord;
};

/**
 * Finds the path of the agents' program in an image. Throws if the image lacks it or the shell that starts it, with
 * `IMAGE_NOT_FOUND` if the original's Dockerfile built it. It only creates a container that never starts.
 */
export async function findAgentProgram(engine: Engine, question: AgentProgramQuestion): Promise<string> {
  const { image } = question;
  try {
    return await translated(findInImage(engine, question), image.name);
  } catch (error) {
    if (!image.isLikeOriginals || error instanceof BudgieError || !(error instanceof Error)) throw error;
    throw new BudgieError(
      "IMAGE_NOT_FOUND",
      `The image "${image.name}" was built for the original budgie, whose agents were root. ${error.message} ` +
        `Build it anew: "budgie build-image --tag ${image.name}".`,
      { cause: error },
    );
  }
}

/** The agents' program to look for in an image. */
export type ProgramSeeker = Pick<AgentProgramQuestion, "user"> & {
  readonly program: string | undefined;
  readonly owner: Pick<Owner, "record">;
};

/** Throws `IMAGE_NOT_FOUND` for an image of the original in which agents cannot run their program. Other images are not inspected. */
export async function refuseOriginals(
  engine: Engine,
  image: SandboxImage,
  { owner, program, user }: ProgramSeeker,
): Promise<void> {
  if (!image.isLikeOriginals || program === undefined) return;
  await findAgentProgram(engine, { image, program, user, owner: owner.record });
}

async function findInImage(engine: Engine, question: AgentProgramQuestion): Promise<string> {
  const { image, mounts, owner, path = image.path, program, user } = question;
  const labels = toLabels(owner, createSessionId(), "session");
  const body = toIdleContainer(image.id, labels, mounts);
  const container = await createContainer(engine, `budgie-doctor-${randomUUID().slice(0, 8)}`, body);
  try {
    await findProgram(container, { program: "/bin/sh", path, user });
    return await findProgram(container, { program, path, user });
  } finally {
    await removeContainer(container);
  }
}
