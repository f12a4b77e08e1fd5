import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { buffer, text } from "node:stream/consumers";
import type Docker from "dockerode";
import { pack } from "tar-stream";
import { BudgieError } from "@budgie/core";
import type { SandboxUser } from "@budgie/sandbox/profile";
import { timeLimit } from "../engine/with-timeout.ts";
import { statusOf, toBudgieError } from "../engine/to-budgie-error.ts";
import type { Engine } from "../engine/engine.ts";
import { getJson } from "../engine/request-engine.ts";

/** An image of one program. */
export type OneFileImage = {
  readonly name: string;
  /** In Go's names */
  readonly architecture: string;
  /** Absolute path of the program in the image */
  readonly path: string;
  readonly content: Buffer;
  /** Folders that only their owner may use; default none */
  readonly folders?: { readonly owner: SandboxUser; readonly paths: readonly string[] };
};

// Packing and hashing one takes longer than the engine's answer whether it has it.
const saved = new WeakMap<OneFileImage, Promise<SavedImage>>();

type ImageEngine = Pick<Engine, "docker" | "endpoint">;

// Not `dev.budgie` itself: containers inherit an image's labels, and that label finds an owner's containers.
const LABEL = "dev.budgie.content";

/**
 * Returns the id of an image, which is created if the engine lacks it, without a registry, a build or a base. Several budgies create the
 * same image, and none removes it: it is a cache. The engine's import call is not used: it makes the image's id depend on the time, so each
 * import of the same content would leave another image behind.
 */
export async function ensureOneFileImage(engine: ImageEngine, image: OneFileImage): Promise<string> {
  const building = saved.get(image) ?? buildSaved(image);
  saved.set(image, building);
  const built = await building;
  try {
    const found = await findOnce(engine, built);
    if (found !== undefined) return found;
    const problem = await load(engine.docker, built);
    // Engines with containerd's store refuse one of two simultaneous loads, so only the image's existence counts.
    return (await findSaved(engine, built)) ?? refused(built.tag, problem ?? "it is not there after it was loaded");
  } catch (error) {
    throw toBudgieError(error, built.tag);
  }
}

type SavedImage = {
  readonly tag: string;
  readonly label: string;
  readonly layer: Buffer;
  readonly config: Buffer;
};

async function buildSaved({ architecture, content, folders, name, path }: OneFileImage): Promise<SavedImage> {
  const layer = await packTar({ [path.slice(1)]: content }, folders);
  const buildConfig = (label: string): Buffer =>
    Buffer.from(JSON.stringify({ ...facts, config: { ...config, Labels: { [LABEL]: label } } }));
  const created = new Date(0).toISOString();
  const config = { Entrypoint: [path], User: "65534:65534" };
  const facts = {
    architecture,
    os: "linux",
    created,
    rootfs: { type: "layers", diff_ids: [`sha256:${sha256(layer)}`] },
    history: [{ created, created_by: "budgie" }],
  };
  // The label is the hash of the layer and of the rest of the configuration.
  const label = sha256(buildConfig(""));
  return { tag: `${name}:${label.slice(0, 12)}`, label, layer, config: buildConfig(label) };
}

const asked = new WeakMap<ImageEngine["endpoint"], Map<string, Promise<string | undefined>>>();

/** Finds an image by one request for all who look for it at once: an engine adds up an image's size for each. */
function findOnce(engine: ImageEngine, image: SavedImage): Promise<string | undefined> {
  const ofEngine = asked.get(engine.endpoint) ?? new Map<string, Promise<string | undefined>>();
  asked.set(engine.endpoint, ofEngine);
  const asking = ofEngine.get(image.label) ?? findSaved(engine, image).finally(() => ofEngine.delete(image.label));
  ofEngine.set(image.label, asking);
  return asking;
}

async function findSaved({ endpoint }: ImageEngine, { label, tag }: SavedImage): Promise<string | undefined> {
  type InspectedImage = {
    readonly Id: string;
    readonly Config?: { readonly Labels?: Readonly<Record<string, string>> | null };
  };
  try {
    const { Config, Id } = await getJson<InspectedImage>(
      endpoint.address,
      `/images/${tag}/json`,
      timeLimit().abortSignal,
    );
    return Config?.Labels?.[LABEL] === label ? Id : undefined;
  } catch (error) {
    if (statusOf(error) === 404) return undefined;
    throw error;
  }
}

/** Loads an image in the format of `docker save`, which every engine reads. Returns the engine's error, if any. */
async function load(docker: Docker, { config, layer, tag }: SavedImage): Promise<string | undefined> {
  const manifest = [{ Config: "config.json", RepoTags: [tag], Layers: ["layer.tar"] }];
  const archive = await packTar({
    "config.json": config,
    "layer.tar": layer,
    "manifest.json": Buffer.from(JSON.stringify(manifest)),
  });
  const said = await text(await docker.loadImage(Readable.from([archive]), { quiet: true, ...timeLimit() }));
  // Later failures are reported in the body of HTTP 200.
  return /"error":"((?:[^"\\]|\\.)*)"/.exec(said)?.[1];
}

/** Packs files and folders into an archive. Equal input gives equal bytes. */
function packTar(files: Readonly<Record<string, Buffer>>, folders?: OneFileImage["folders"]): Promise<Buffer> {
  const archive = pack();
  for (const path of folders?.paths ?? []) {
    archive.entry({ name: path.slice(1), type: "directory", mode: 0o700, ...folders?.owner, mtime: new Date(0) });
  }
  for (const [name, content] of Object.entries(files)) {
    archive.entry({ name, mode: 0o755, uid: 0, gid: 0, mtime: new Date(0) }, content);
  }
  archive.finalize();
  return buffer(archive);
}

function sha256(content: Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}

function refused(tag: string, reason: string): never {
  throw new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The engine did not take the image "${tag}": ${reason}. "budgie doctor" says more.`,
  );
}
