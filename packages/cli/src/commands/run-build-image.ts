import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { BudgieError } from "@budgie/core";
import { escapeForTerminal, readPlainFile } from "@budgie/core/text";
import { AGENT_PRESETS, type AgentPreset, type AgentPresetName } from "../agents/agent-presets.ts";
import { formatBuildFailure } from "./find-build-hint.ts";
import { createBuildProgress } from "../terminal/build-progress.ts";
import { EXIT, resolvePath, type Host } from "@budgie/mcp-server";

export type BuildImageOptions = {
  readonly tag: string;
  /** `NAME=VALUE` each */
  readonly buildArgs: readonly string[];
  readonly context: string | undefined;
  /** The presets whose programs the image gets */
  readonly presets: readonly AgentPresetName[];
  readonly network: string | undefined;
  /** Certificates for the build's steps to trust, besides the public ones; the image does not trust them */
  readonly caFile: string | undefined;
};

/** Runs `budgie build-image`: builds the sandbox image and prints its progress. */
export async function runBuildImage(options: BuildImageOptions, host: Host): Promise<number> {
  const { caFile, context, network, presets, tag } = options;
  refuseBadTag(tag);
  const recipe = findRecipe(context, host);
  const buildArgs = withPrograms(presets, Object.fromEntries(options.buildArgs.map(parseBuildArg)));
  if (presets.length > 0) refuseOldRecipe(recipe);
  const { buildSandboxImage } = await import("@budgie/runner-docker");
  const progress = createBuildProgress(host);
  const { failure, imageId } = await buildSandboxImage({
    ...recipe,
    tag,
    certificates: caFile === undefined ? undefined : readPlainFile(caFile).text,
    buildArgs,
    network,
    home: host.home,
    hostEnv: host.env,
    onProgress: progress.tell,
  }).finally(progress.clear);
  if (failure !== undefined) {
    progress.showLast();
    const build = { failure, output: progress.last(), hasCaFile: caFile !== undefined };
    const text = escapeForTerminal(formatBuildFailure(shorten(failure, progress.step()), build));
    host.report(`The sandbox image was not built: ${text}`);
    return EXIT.failed;
  }
  host.stdout.write(`Built ${tag} (${imageId}).\n`);
  return EXIT.done;
}

const LONGEST_END = 160;

/** Returns an error on one line, and not the whole script of a step, which engines repeat. */
function shorten(failure: string, step: string | undefined): string {
  const line = failure.replace(/\s+/g, " ");
  const [, code] = /^The command '.*' returned a non-zero code: (\d+)$/.exec(line) ?? [];
  if (code !== undefined && step !== undefined) return `step ${step} ended with code: ${code}.`;
  if (line.length <= 2 * LONGEST_END) return line;
  return `${line.slice(0, LONGEST_END)} [...] ${line.slice(-LONGEST_END)}`;
}

// As engines read it: a registry with an optional port, the name's parts in lower case, and a tag.
const REFERENCE =
  /^(?:[a-zA-Z\d](?:[a-zA-Z\d.-]*[a-zA-Z\d])?(?::\d+)?\/)?[a-z\d]+(?:(?:\.|__?|-+|\/)[a-z\d]+)*(?::\w[\w.-]{0,127})?$/;

function refuseBadTag(tag: string): void {
  if (REFERENCE.test(tag) && tag.length <= 383) return;
  throw new BudgieError(
    "CONFIG_INVALID",
    `Expected --tag to be the name of an image in lower case, such as "budgie-sandbox:latest", got "${tag}".`,
  );
}

type Recipe = { readonly contextDir: string; readonly dockerfile: string };

// A folder with both has the second for a program of its own.
const NAMES = ["Dockerfile.sandbox", "Dockerfile"] as const;

// The bundle's copy of the checkout's build context
const OWN = fileURLToPath(new URL("../../dist/bundle/sandbox-image", import.meta.url));

/** Finds the build context, which is the named folder or budgie's own, and the image's file in it. */
function findRecipe(context: string | undefined, host: Host): Recipe {
  const contextDir = context === undefined ? OWN : resolvePath(context, host);
  const dockerfile = NAMES.find((name) => existsSync(join(contextDir, name)));
  if (dockerfile !== undefined) return { contextDir, dockerfile };
  throw new BudgieError(
    "CONFIG_INVALID",
    `There is no ${NAMES.join(" or ")} in "${contextDir}". Name the folder that has one with --context.`,
  );
}

function parseBuildArg(text: string): readonly [string, string] {
  const [, name, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(text) ?? [];
  if (name !== undefined && value !== undefined) return [name, value];
  throw new BudgieError("CONFIG_INVALID", `Expected --build-arg to be NAME=VALUE, got "${text}".`);
}

type BuildArgs = Readonly<Record<string, string>>;

// Unlike budgie's own base, it has npm.
const BASE_WITH_NPM = "node:22-bookworm-slim";

/** Adds the build arguments that install the programs of presets. */
function withPrograms(presets: readonly AgentPresetName[], given: BuildArgs): BuildArgs {
  if (presets.length === 0) return given;
  const packages = presets.map(findPackage);
  const all = [...new Set(packages), ...(given[PACKAGES] ? [given[PACKAGES]] : [])];
  return { BASE_IMAGE: BASE_WITH_NPM, ...given, [PACKAGES]: all.join(" ") };
}

const PACKAGES = "NPM_PACKAGES";

function findPackage(name: AgentPresetName): string {
  const { command, npm }: AgentPreset = AGENT_PRESETS[name];
  if (npm !== undefined) return npm;
  throw new BudgieError(
    "CONFIG_INVALID",
    `The program of "${name}" is no package of npm. The image gets "${command}" without --with; leave it out.`,
  );
}

/** Throws for a Dockerfile without this build argument, which would build an image without the programs. */
function refuseOldRecipe({ contextDir, dockerfile }: Recipe): void {
  const file = join(contextDir, dockerfile);
  if (readFileSync(file, "utf8").includes(PACKAGES)) return;
  throw new BudgieError("CONFIG_INVALID", `"${file}" takes no build argument ${PACKAGES}, which --with needs.`);
}
