import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { BudgieError } from "@budgie/core";
import { AGENT_PRESETS, type AgentPreset, type AgentPresetName } from "../agents/agent-presets.ts";
import { EXIT } from "../process/exit-code.ts";
import type { Host } from "../process/host.ts";
import { toAbsolutePath } from "../config/host-paths.ts";
import { escapeForTerminal } from "../terminal/printable.ts";

export type BuildImageOptions = {
  readonly tag: string;
  /** `NAME=VALUE` each */
  readonly buildArgs: readonly string[];
  readonly context: string | undefined;
  /** The presets whose programs the image gets */
  readonly presets: readonly AgentPresetName[];
  readonly network: string | undefined;
};

/** Runs `budgie build-image`: builds the sandbox image and prints its progress. */
export async function runBuildImage(options: BuildImageOptions, host: Host): Promise<number> {
  const { context, network, presets, tag } = options;
  refuseBadTag(tag);
  const recipe = findRecipe(context, host);
  const buildArgs = withPrograms(presets, Object.fromEntries(options.buildArgs.map(parseBuildArg)));
  if (presets.length > 0) refuseOldRecipe(recipe);
  const { buildSandboxImage } = await import("@budgie/runner-docker");
  const progress = createProgress(host);
  const { failure, imageId } = await buildSandboxImage({
    ...recipe,
    tag,
    buildArgs,
    network,
    home: host.home,
    hostEnv: host.env,
    onProgress: progress.tell,
  }).finally(progress.clear);
  if (failure !== undefined) {
    host.report(`The sandbox image was not built: ${escapeForTerminal(failure)}`);
    return EXIT.failed;
  }
  host.stdout.write(`Built ${tag} (${imageId}).\n`);
  return EXIT.done;
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
  const contextDir = context === undefined ? OWN : toAbsolutePath(context, host);
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
  const packages = presets.map(toPackage);
  const all = [...new Set(packages), ...(given[PACKAGES] ? [given[PACKAGES]] : [])];
  return { BASE_IMAGE: BASE_WITH_NPM, ...given, [PACKAGES]: all.join(" ") };
}

const PACKAGES = "NPM_PACKAGES";

function toPackage(name: AgentPresetName): string {
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

type Progress = { readonly tell: (line: string) => void; readonly clear: () => void };

/** Creates the output. A terminal keeps only steps and notes, and shows the steps' output in one changing line. */
function createProgress({ columns, stdout }: Host): Progress {
  if (columns === undefined) return { tell: (line) => void stdout.write(`${line}\n`), clear: () => undefined };
  const clear = (): void => void stdout.write("\r\u001B[2K");
  return {
    tell(text) {
      for (const line of text.split(/[\r\n]+/)) {
        clear();
        stdout.write(/^(?:Step|Note:) /.test(line) ? `${line}\n` : line.slice(0, columns - 1));
      }
    },
    clear,
  };
}
