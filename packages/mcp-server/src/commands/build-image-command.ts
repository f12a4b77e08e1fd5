import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { BudgieError } from "@budgie/core";
import type { Host } from "../process/host.ts";
import { toAbsolutePath } from "../config/host-paths.ts";

export type BuildImageOptions = {
  readonly tag: string;
  /** `NAME=VALUE` each */
  readonly buildArgs: readonly string[];
  readonly context: string | undefined;
};

/** Runs `budgie build-image`: builds the sandbox image and prints its progress. */
export async function runBuildImage({ buildArgs, context, tag }: BuildImageOptions, host: Host): Promise<number> {
  const contextDir = findContext(context, host);
  const { buildSandboxImage } = await import("@budgie/runner-docker");
  const progress = createProgress(host);
  const { imageId } = await buildSandboxImage({
    tag,
    contextDir,
    buildArgs: Object.fromEntries(buildArgs.map(parseBuildArg)),
    home: host.home,
    hostEnv: host.env,
    onProgress: progress.tell,
  }).finally(progress.clear);
  host.stdout.write(`Built ${tag} (${imageId}).\n`);
  return 0;
}

const DOCKERFILE = "Dockerfile.sandbox";

/** Finds the build context: the named folder, or budgie's own in its package or at the root of a checkout. */
function findContext(context: string | undefined, host: Host): string {
  const own = ["../..", "../../../.."].map((up) => fileURLToPath(new URL(up, import.meta.url)));
  const candidates = context === undefined ? own : [toAbsolutePath(context, host)];
  const found = candidates.find((folder) => existsSync(join(folder, DOCKERFILE)));
  if (found !== undefined) return found;
  const where = candidates.map((folder) => `"${folder}"`).join(" and ");
  throw new BudgieError(
    "CONFIG_INVALID",
    `There is no ${DOCKERFILE} in ${where}. Name the folder that has it with --context.`,
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
