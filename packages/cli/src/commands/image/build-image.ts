import { BudgieError } from "@budgie/core";
import { escapeForTerminal } from "@budgie/core/text";
import { EXIT, type Host } from "@budgie/mcp-server";
import { readImageApprovals, storeImageApproval, type ImageSource } from "@budgie/mcp-server/commands";
import type { Config } from "../../config/config.ts";
import { createBuildProgress } from "../../terminal/build-progress.ts";
import { findProject, requireSource } from "./find-project.ts";

const LONGEST_BUILD_MS = 30 * 60_000;

/**
 * Runs `budgie image build`: builds what was allowed for a directory, and notes the image. Resolves to 1 if the build failed. Throws
 * `INPUT_INVALID` for what nobody has allowed as it is now.
 */
export async function buildImage(config: Config, named: string | undefined, host: Host): Promise<number> {
  const source = requireSource(findProject(config, named, host));
  const { directory, key } = source;
  const replaces = requireApproval(source, config).imageId;
  const { buildProjectImage } = await import("@budgie/runner-docker");
  const progress = createBuildProgress(host);
  const { args, context, name: dockerfile, target } = source;
  const { failure, imageId } = await buildProjectImage({
    args,
    context,
    dockerfile,
    key,
    replaces,
    target,
    timeoutMs: LONGEST_BUILD_MS,
    stateDir: config.stateDir,
    home: host.home,
    hostEnv: host.env,
    onProgress: progress.tell,
  }).finally(progress.clear);
  if (failure !== undefined) {
    host.report(`The image of "${directory}" was not built: ${escapeForTerminal(failure)}`);
    return EXIT.failed;
  }
  // Somebody may have denied it meanwhile.
  requireApproval(source, config);
  storeImageApproval({ directory, key, imageId }, config);
  host.stdout.write(`${escapeForTerminal(`Built the image of "${directory}" (${imageId}).`)}\n`);
  return EXIT.done;
}

function requireApproval({ directory, key }: ImageSource, config: Config) {
  const approval = readImageApprovals(config).find((one) => one.directory === directory);
  if (approval?.key === key) return approval;
  const why = approval === undefined ? "nobody has allowed it" : "it has changed since it was allowed";
  throw new BudgieError(
    "INPUT_INVALID",
    `budgie does not build the image of "${directory}": ${why}. At a terminal, "budgie image allow" shows and allows it.`,
  );
}
