import { randomUUID } from "node:crypto";
import { createSessionId, type OwnerRecord } from "@budgie/core";
import { toIdleContainer } from "../sandbox/container-options.ts";
import { createNamed } from "../engine/create-container.ts";
import type { Engine } from "../engine/engine.ts";
import type { SandboxImage } from "../image/find-image.ts";
import { findProgram } from "../image/find-program.ts";
import { toLabels } from "../engine/labels.ts";
import type { SandboxUser } from "../sandbox/sandbox-user.ts";
import { removeContainer } from "../engine/remove-container.ts";

export type ProgramsQuestion = {
  readonly image: SandboxImage;
  readonly program: string;
  readonly user: SandboxUser;
  /** Who made the container, should it be left behind */
  readonly owner: OwnerRecord;
};

/** Finds where an image has the agents' program, or throws if it lacks that or the shell that starts it. */
export async function inspectPrograms(engine: Engine, question: ProgramsQuestion): Promise<string> {
  const { image, owner, program, user } = question;
  const labels = toLabels(owner, createSessionId(), "holder");
  const body = toIdleContainer(image.id, labels);
  const container = await createNamed(engine, `budgie-holder-doctor-${randomUUID().slice(0, 8)}`, body);
  try {
    await findProgram(container, { program: "/bin/sh", path: image.path, user });
    return await findProgram(container, { program, path: image.path, user });
  } finally {
    await removeContainer(container);
  }
}
