import { BudgieError } from "@budgie/core";
import { escapeForTerminal, readPlainFile } from "@budgie/core/text";
import { EXIT, type Host } from "@budgie/mcp-server";
import { readImageApprovals, storeImageApproval, type ImageSource } from "@budgie/sandbox/images";
import type { Config } from "../../config/config.ts";
import { createBuildProgress } from "../../terminal/build-progress.ts";
import { formatBuildFailure } from "../find-build-hint.ts";
import { findProject, requireSource } from "./find-project.ts";

const LONGEST_BUILD_MS = 30 * 60_000;

/**
 * Runs `budgie image build`: builds what was allowed for a directory, and notes the image. Resolves to 1 if the build failed. Throws
 * `INPUT_INVALID` for what nobody has allowed as it is now.
 */
export async function buildImage(config: Config, named: string | undefined, host: Host): Promise<number> {
  const source = requireSource(findProject(config, named, host));
  const { directory, key } = source;
  const { bases: allowed = {}, imageId: replaces } = requireApproval(source, config);
  const { buildProjectImage, findImageIds } = await import("@budgie/runner-docker");
  const { caFile } = config;
  const engine = { home: host.home, hostEnv: host.env };
  refuseOtherBases(allowed, await findImageIds(source.bases, engine), directory);
  const progress = createBuildProgress(host);
  const { args, context, name: dockerfile, target } = source;
  const { failure, imageId } = await buildProjectImage({
    args,
    certificates: caFile === undefined ? undefined : readPlainFile(caFile).text,
    context,
    dockerfile,
    key,
    replaces,
    target,
    timeoutMs: LONGEST_BUILD_MS,
    stateDir: config.stateDir,
    ...engine,
    onProgress: progress.tell,
  }).finally(progress.clear);
  if (failure !== undefined) {
    const build = { failure, output: progress.last(), hasCaFile: caFile !== undefined, isProject: true };
    progress.showLast();
    host.report(`The image of "${directory}" was not built: ${escapeForTerminal(formatBuildFailure(failure, build))}`);
    return EXIT.failed;
  }
  // Somebody may have denied it meanwhile.
  requireApproval(source, config);
  // Those that the engine fetched for the build, or that somebody replaced meanwhile.
  const bases = await findImageIds(source.bases, engine);
  refuseOtherBases(allowed, bases, directory);
  storeImageApproval({ directory, key, bases, imageId }, config);
  host.stdout.write(`${escapeForTerminal(`Built the image of "${directory}" (${imageId}).`)}\n`);
  return EXIT.done;
}

type Ids = Readonly<Record<string, string>>;

/** Throws if an image that the project's is built on is another one than when it was allowed. */
function refuseOtherBases(allowed: Ids, present: Ids, directory: string): void {
  const other = Object.keys(allowed).find((name) => present[name] !== allowed[name]);
  if (other === undefined) return;
  throw new BudgieError(
    "INPUT_INVALID",
    `budgie does not build the image of "${directory}": "${other}", which it is built on, is no longer there, or is not the image that it was when you allowed it. ` +
      `At a terminal, "budgie image allow" shows and allows it anew.`,
  );
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
