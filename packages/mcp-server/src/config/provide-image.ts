import { BudgieError } from "@budgie/core";
import type { ProjectImageReport } from "@budgie/core/errors";
import type { Provided } from "@budgie/core/turn";
import { chooseImage } from "@budgie/sandbox/images";
import type { ServerConfig } from "./server-config.ts";
import { findWorkspace } from "./settings.ts";

type Config = Pick<ServerConfig, "cluster" | "isShortProjectLogin" | "sandbox" | "stateDir" | "workspaces">;

/**
 * Adds the image that a directory's own files ask for, unless the user's settings name one. An agent there gets only a login that ends by itself,
 * unless the user chose otherwise. Throws `IMAGE_NOT_FOUND` if the settings require an image that there is not.
 */
export function provideImage(provided: Provided, directory: string, config: Config): Provided {
  if (!config.sandbox || provided.image !== undefined) return provided;
  const project = chooseForRunner(directory, config);
  if (project?.id === undefined) {
    if (findWorkspace(config, directory)?.requireImage === true) throw missing(directory, project);
    return { ...provided, project };
  }
  const isShortLogin = config.isShortProjectLogin === true;
  return { ...provided, project, image: project.id, isShortLogin, withheld: isShortLogin ? ["KIRO_API_KEY"] : [] };
}

/** Chooses as an engine could use it: on a cluster, an allowed image is not used. */
function chooseForRunner(directory: string, config: Config): ProjectImageReport | undefined {
  const project = chooseImage(directory, config);
  if (config.cluster === undefined || project?.id === undefined) return project;
  return { used: "default", reason: "is on this machine's engine, and not on the cluster", file: project.file };
}

function missing(directory: string, project: ProjectImageReport | undefined): BudgieError {
  const why = project === undefined ? "no file there asks for one" : `"${project.file}": ${project.reason}`;
  const remedy = `At a terminal, "budgie image show" says more.`;
  return new BudgieError(
    "IMAGE_NOT_FOUND",
    `Calls in "${directory}" need the project's own image ("requireImage" in the configuration file): ${why}. ${remedy}`,
  );
}
