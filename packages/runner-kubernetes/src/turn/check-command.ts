import { stat } from "node:fs/promises";
import { BudgieError, type Command } from "@budgie/core";
import { movedError } from "@budgie/sandbox/mounts";

/** Throws `CONFIG_INVALID` for a command with something that a Pod does not have. */
export function checkCommand({ cache, image, services = [] }: Command, own: string): void {
  const lack =
    services.length > 0
      ? "services"
      : (cache?.tools.length ?? 0) > 0
        ? "caches"
        : image !== undefined && image !== own
          ? "images of projects"
          : undefined;
  if (lack === undefined) return;
  throw new BudgieError(
    "CONFIG_INVALID",
    `Sandboxes on a cluster have no ${lack} yet. Take them out of the configuration of this agent or directory, or run it with Docker.`,
  );
}

/** Throws `WORKSPACE_INVALID` unless a workspace is a directory. */
export async function checkDirectory(path: string): Promise<void> {
  const facts = await stat(path).catch(() => undefined);
  if (facts?.isDirectory() !== true) throw movedError(path, "is no longer a directory");
}
