import { randomUUID } from "node:crypto";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { BudgieError, createSessionId, type Owner } from "@budgie/core";
import { usesCopy, type Access } from "@budgie/core/policy";
import { createContainer } from "../engine/create-container.ts";
import type { Engine } from "../engine/engine.ts";
import { removeContainer } from "../engine/remove-container.ts";
import { toBudgieError } from "../engine/to-budgie-error.ts";
import { toLabels } from "../engine/to-labels.ts";
import { timeLimit } from "../engine/with-timeout.ts";
import type { SandboxImage } from "../image/find-image.ts";
import { toIdleContainer } from "../sandbox/container-options.ts";

/** The decision whether an engine sees this machine's files, of which sandboxes mount some. */
export type SharedFiles = {
  /**
   * Decides once: resolves to true if the engine sees them. If not, throws `WORKSPACE_INVALID` for a process that does not work on a copy
   */
  check(workspace: Access["workspace"]): Promise<boolean>;
};

type SharedFilesParts = {
  readonly engine: Engine;
  readonly image: SandboxImage;
  readonly owner: Owner;
  readonly scratchDir: string;
};

/**
 * Creates the decision, which is made by the first turn. An engine behind a network may be on another machine, where a path may lead to
 * another directory. Only one that sees this machine's files finds a folder whose name nobody can guess.
 */
export function createSharedFiles(parts: SharedFilesParts): SharedFiles {
  let deciding: Promise<unknown> | undefined;
  async function check(workspace: Access["workspace"]): Promise<boolean> {
    if ("socketPath" in parts.engine.endpoint.address) return true;
    deciding ??= mountNewFolder(parts);
    // After an error, the next turn decides again.
    deciding.catch(() => (deciding = undefined));
    const refusal = await deciding;
    if (refusal !== undefined && !usesCopy(workspace)) throw elsewhereError(parts.engine, refusal);
    return refusal === undefined;
  }
  return { check };
}

/** Resolves to the engine's reason if it does not find a new folder. */
async function mountNewFolder({ engine, image, owner, scratchDir }: SharedFilesParts): Promise<unknown> {
  const source = join(scratchDir, `shared-${randomUUID()}`);
  await mkdir(source, { recursive: true, mode: 0o700 });
  try {
    const mount = { type: "bind", source, target: "/shared", isReadOnly: true } as const;
    const labels = toLabels(owner.record, createSessionId(), "session");
    const body = toIdleContainer(image.id, labels, [mount]);
    const container = await createContainer(engine, `budgie-shared-${randomUUID().slice(0, 8)}`, body);
    try {
      // Podman may look for a source only at the start.
      if (engine.name === "Podman") await container.start(timeLimit());
    } finally {
      await removeContainer(container);
    }
    return undefined;
  } catch (error) {
    const translated = toBudgieError(error, image.name);
    if (translated instanceof BudgieError && translated.code === "WORKSPACE_INVALID") return error;
    throw translated;
  } finally {
    await rm(source, { recursive: true, force: true });
  }
}

function elsewhereError({ endpoint }: Engine, cause: unknown): BudgieError {
  return new BudgieError(
    "WORKSPACE_INVALID",
    `The engine at ${endpoint.url} does not see this machine's directories, so no agent can work there in one. ` +
      `Have agents work on copies: take out "workspace" or make it "copy", and put "allowRemoteCopy": true into budgie's configuration file. ` +
      `Or use an engine on this machine, or one that sees the same files at the same paths.`,
    { cause },
  );
}
