import { realpathSync, statSync } from "node:fs";
import { BudgieError } from "@budgie/core";
import { resolvePath, type Host } from "@budgie/mcp-server";
import { findWorkspace } from "@budgie/mcp-server/commands";
import {
  findImageSource,
  judgeImageSource,
  readImageApprovals,
  type ImageSource,
  type ImageState,
} from "@budgie/sandbox/images";
import type { Config } from "../../config/config.ts";

/** A directory, and what decides on the image of sandboxes there. */
export type Project = Pick<ImageSource, "directory"> & {
  /** The image that the user's configuration names for it, before which no file of the project counts */
  readonly configured: string | undefined;
  readonly source: ImageSource | undefined;
  /** The state of the source; `undefined` without one */
  readonly state: ImageState | undefined;
};

/** Finds what decides on the image of a directory, by default the present one. Throws `INPUT_INVALID` for what is no directory. */
export function findProject(config: Config, named: string | undefined, host: Host): Project {
  const directory = toRealDirectory(named === undefined ? host.cwd : resolvePath(named, host));
  const source = findImageSource(directory);
  return {
    directory,
    configured: findWorkspace(config, directory)?.image,
    source,
    state: source && judgeImageSource(source, readImageApprovals(config)),
  };
}

/** Returns the source of a project, or throws `INPUT_INVALID` if it has none that may be built. */
export function requireSource({ directory, source }: Project): ImageSource {
  if (source === undefined) {
    throw new BudgieError(
      "INPUT_INVALID",
      `Nothing in "${directory}" asks for an image. "budgie image show" says what could; "budgie build-image" builds budgie's own.`,
    );
  }
  if (source.refused.length === 0) return source;
  throw new BudgieError(
    "INPUT_INVALID",
    `budgie does not build "${source.file}" in "${directory}": ${source.refused.join("; ")}.`,
  );
}

function toRealDirectory(path: string): string {
  try {
    const real = realpathSync.native(path);
    if (statSync(real).isDirectory()) return real;
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code ?? String(cause);
    throw new BudgieError("INPUT_INVALID", `Cannot read the directory "${path}": ${reason}.`, { cause });
  }
  throw new BudgieError("INPUT_INVALID", `"${path}" is no directory. Name the project's.`);
}
