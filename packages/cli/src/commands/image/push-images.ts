import { existsSync } from "node:fs";
import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { BudgieError } from "@budgie/core";
import { escapeForTerminal, truncateText } from "@budgie/core/text";
import { EXIT, loadVersion, type Host } from "@budgie/mcp-server";
import type { Config } from "../../config/config.ts";
import { findOnPath } from "../../process/find-on-path.ts";
import { interruptible } from "../../process/interruptible.ts";
import { runTool, type ToolEnd } from "../../process/run-tool.ts";

export type PushOptions = {
  /** The repository, with a tag for the sandbox's image if wanted */
  readonly name: string;
  /** The local image of the sandbox; default that of the configuration, unless that is one of a cluster's */
  readonly image?: string | undefined;
  /** The image with Node on which budgie's own is built; default that of its Dockerfile */
  readonly base?: string | undefined;
};

/**
 * Runs `budgie image push`: builds budgie's own image, and pushes it and the sandbox's with the user's docker program, whose login counts. Prints
 * the keys that name them by digest. Resolves to 1 if a step failed.
 */
export async function pushImages(config: Config, options: PushOptions, host: Host): Promise<number> {
  const { repository, tag } = parseName(options.name);
  const tool = findTool(host);
  const local = options.image ?? (config.cluster === undefined ? config.sandboxImage : USUAL_IMAGE);
  const [agents, sidecar] = [`${repository}:${tag}`, `${repository}:budgie-${loadVersion()}`];
  return interruptible(host, async (signal) => {
    const run = (...words: readonly string[]): Promise<ToolEnd> => runTool([tool, ...words], { env: host.env, signal });
    const steps: readonly Step[] = [
      { says: `Building ${sidecar}`, run: () => inContext((folder) => run(...toBuild(sidecar, folder, options))) },
      { says: `Tagging ${local} as ${agents}`, run: () => run("tag", local, agents), remedy: BUILD_REMEDY },
      { says: `Pushing ${agents}`, run: () => push(agents, run), remedy: LOGIN_REMEDY },
      { says: `Pushing ${sidecar}`, run: () => push(sidecar, run), remedy: LOGIN_REMEDY },
    ];
    const digests: string[] = [];
    for (const step of steps) {
      host.report(escapeForTerminal(`${step.says}.`));
      const { isDone, stderr, stdout } = await step.run();
      if (!isDone) {
        host.report(`${escapeForTerminal(`${step.says} failed: ${findLastLine(stderr)}`)} ${step.remedy ?? ""}`.trim());
        return EXIT.failed;
      }
      digests.push(...findDigest(stdout));
    }
    return printKeys(repository, digests, host);
  });
}

const USUAL_IMAGE = "budgie-sandbox:latest";

type Step = {
  readonly says: string;
  readonly run: () => Promise<ToolEnd>;
  readonly remedy?: string;
};

const BUILD_REMEDY = '"budgie build-image" builds it, and --image names another.';
const LOGIN_REMEDY = "The program needs a login that may push there, such as of docker login.";

// A registry with an optional port, and the name's parts in lower case, as engines read it.
const NAME = /^([a-zA-Z\d][\w.-]*(?::\d{1,5})?(?:\/[a-z\d][a-z\d._-]*)+)(?::(\w[\w.-]{0,127}))?$/;

function parseName(name: string): { readonly repository: string; readonly tag: string } {
  const [, repository, tag = "agents"] = NAME.exec(name) ?? [];
  if (repository !== undefined && name.length <= 383) return { repository, tag };
  throw new BudgieError(
    "CONFIG_INVALID",
    `Expected the name of a repository, such as registry.example.com/team/budgie, got ${JSON.stringify(name)}.`,
  );
}

function findTool({ env }: Host): string {
  const tool = ["docker", "podman"].map((name) => findOnPath(name, env["PATH"])).find((path) => path !== undefined);
  if (tool !== undefined) return tool;
  throw new BudgieError(
    "CONFIG_INVALID",
    'There is no program "docker" or "podman" on the PATH, with whose login images are pushed. Install one, and log in to the registry with it.',
  );
}

// The bundle's copies of what the image is made of
const BUNDLE = fileURLToPath(new URL("../../../dist/bundle/", import.meta.url));
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64" };

/** Makes the build context of budgie's own image, and removes it after its use. */
async function inContext(build: (folder: string) => Promise<ToolEnd>): Promise<ToolEnd> {
  const architecture = ARCHITECTURES[process.arch];
  if (architecture === undefined || !existsSync(join(BUNDLE, "pod-image"))) {
    throw new BudgieError(
      "CONFIG_INVALID",
      `This budgie has no image for clusters for ${process.arch} in "${BUNDLE}". Use the npm package on a machine with amd64 or arm64.`,
    );
  }
  const folder = await mkdtemp(join(tmpdir(), "budgie-pod-image-"));
  try {
    await mkdir(join(folder, "budgie"));
    for (const [from, to] of listFiles(architecture)) await copyFile(join(BUNDLE, from), join(folder, to));
    // The image's user is another one, whatever this user's umask is.
    await chmod(join(folder, "budgie"), 0o755);
    for (const name of await readdir(join(folder, "budgie"))) await chmod(join(folder, "budgie", name), 0o755);
    return await build(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function listFiles(architecture: string): readonly (readonly [from: string, to: string])[] {
  return [
    ["pod-image/Dockerfile", "Dockerfile"],
    ["pod-image/pod.cjs", "budgie/pod.cjs"],
    [`pod-image/hold/linux-${architecture}`, "budgie/hold"],
    [`pod-image/hold/profile-${architecture}.bpf`, "budgie/profile.bpf"],
    [`runner-docker/forwarder/linux-${architecture}`, "budgie/forwarder"],
  ];
}

function toBuild(tag: string, folder: string, { base }: PushOptions): readonly string[] {
  return ["build", "--tag", tag, ...(base === undefined ? [] : ["--build-arg", `BASE=${base}`]), folder];
}

type RunWords = (...words: readonly string[]) => Promise<ToolEnd>;

/** Pushes an image. Podman writes the digest into a file, and Docker prints it. */
async function push(image: string, run: RunWords): Promise<ToolEnd> {
  const pushed = await run("push", image);
  if (!pushed.isDone || findDigest(pushed.stdout).length > 0) return pushed;
  const folder = await mkdtemp(join(tmpdir(), "budgie-push-"));
  try {
    const file = join(folder, "digest");
    const again = await run("push", "--digestfile", file, image);
    return again.isDone ? { ...again, stdout: `digest: ${await readFile(file, "utf8")}` } : again;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function findDigest(printed: string): readonly string[] {
  const [, digest] = /digest: (sha256:[\da-f]{64})\b/.exec(printed) ?? [];
  return digest === undefined ? [] : [digest];
}

const LONGEST_LINE = 300;

function findLastLine(printed: string): string {
  const lines = printed.split("\n").filter((line) => line.trim() !== "");
  return truncateText(lines.at(-1) ?? "it says nothing", LONGEST_LINE);
}

function printKeys(repository: string, [agents, sidecar]: readonly string[], host: Host): number {
  if (agents === undefined || sidecar === undefined) {
    host.report("The images were pushed, and the program did not say their digests. Ask the registry for them.");
    return EXIT.failed;
  }
  host.stdout.write(
    `budgie config set sandboxImage ${repository}@${agents}\nbudgie config set kubernetesSidecarImage ${repository}@${sidecar}\n`,
  );
  return EXIT.done;
}
