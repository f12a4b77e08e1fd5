import { randomUUID } from "node:crypto";
import { createSessionId, type OwnerRecord } from "@budgie/core";
import { toIdleContainer } from "./container-options.ts";
import { createNamed } from "./create-named.ts";
import type { Engine } from "./engine.ts";
import type { SandboxImage } from "./find-image.ts";
import { findProgram } from "./find-program.ts";
import { toLabels } from "./labels.ts";
import type { SandboxUser } from "./sandbox-user.ts";
import { removeContainer } from "./turn-process.ts";

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
