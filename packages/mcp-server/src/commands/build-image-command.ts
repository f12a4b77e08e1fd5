import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { BudgieError } from "@budgie/core";
import { EXIT } from "../process/exit-code.ts";
import type { Host } from "../process/host.ts";
import { toAbsolutePath } from "../config/host-paths.ts";
import { escapeForTerminal } from "../terminal/printable.ts";

export type BuildImageOptions = {
  readonly tag: string;
  /** `NAME=VALUE` each */
  readonly buildArgs: readonly string[];
  readonly context: string | undefined;
};

/** Runs `budgie build-image`: builds the sandbox image and prints its progress. */
export async function runBuildImage({ buildArgs, context, tag }: BuildImageOptions, host: Host): Promise<number> {
  refuseBadTag(tag);
  const contextDir = findContext(context, host);
  const { buildSandboxImage } = await import("@budgie/runner-docker");
  const progress = createProgress(host);
  const { failure, imageId } = await buildSandboxImage({
    tag,
    contextDir,
    buildArgs: Object.fromEntries(buildArgs.map(parseBuildArg)),
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

const DOCKERFILE = "Dockerfile";

// The bundle has a copy of the checkout's.
const OWN = fileURLToPath(new URL("../../dist/bundle/sandbox-image", import.meta.url));

/** Finds the build context: the named folder, or budgie's own. */
function findContext(context: string | undefined, host: Host): string {
  const folder = context === undefined ? OWN : toAbsolutePath(context, host);
  if (existsSync(join(folder, DOCKERFILE))) return folder;
  throw new BudgieError(
    "CONFIG_INVALID",
    `There is no ${DOCKERFILE} in "${folder}". Name the folder that has it with --context.`,
  );
}

function parseBuildArg(text: string): readonly [string, string] {
  const [, name, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(text) ?? [];
  if (name !== undefined && value !== undefined) return [name, value];
  throw new BudgieError("CONFIG_INVALID", `Expected --build-arg to be NAME=VALUE, got "${text}".`);
}

type Progress = { readonly tell: (line: string) => void; readonly clear: () => void };

/** Creates the output. A terminal keeps only the steps, and shows their output in one changing line. */
function createProgress({ columns, stdout }: Host): Progress {
  if (columns === undefined) return { tell: (line) => void stdout.write(`${line}\n`), clear: () => undefined };
  const clear = (): void => void stdout.write("\r\u001B[2K");
  return {
    tell(text) {
      for (const line of text.split(/[\r\n]+/)) {
        clear();
        stdout.write(line.startsWith("Step ") ? `${line}\n` : line.slice(0, columns - 1));
      }
    },
    clear,
  };
}
