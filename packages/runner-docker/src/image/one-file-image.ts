import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { buffer, text } from "node:stream/consumers";
import type Docker from "dockerode";
import { pack } from "tar-stream";
import { BudgieError } from "@budgie/core";
import { withLimit } from "../engine/time-limits.ts";
import { statusOf, toBudgieError } from "../engine/docker-errors.ts";
import type { Engine } from "../engine/engine.ts";
import { getJson } from "../engine/engine-http.ts";

/** An image of one program. */
export type OneFileImage = {
  readonly name: string;
  /** As Go names it */
  readonly architecture: string;
  /** Absolute, where the program is in the image */
  readonly path: string;
  readonly content: Buffer;
};

type ImageEngine = Pick<Engine, "docker" | "endpoint">;

// Not `dev.budgie` itself: containers inherit it, and by that one the containers of an owner are found.
const LABEL = "dev.budgie.content";

/**
 * Returns the id of an image, which is created if the engine lacks it, without a registry, a build or a base. Several budgies
 * create the same image, and none removes it: it is a cache. The engine's import call would not do, since the image's id then
 * depends on the time, so that each import of the same content leaves another image behind.
 */
export async function ensureOneFileImage(engine: ImageEngine, image: OneFileImage): Promise<string> {
  const saved = await toSaved(image);
  try {
    const found = await findSaved(engine, saved);
    if (found !== undefined) return found;
    const problem = await load(engine.docker, saved);
    // Of two that load it at once, engines with containerd's store refuse one: what counts is that it is there.
    return (await findSaved(engine, saved)) ?? refused(saved.tag, problem ?? "it is not there after it was loaded");
  } catch (error) {
    throw toBudgieError(error, saved.tag);
  }
}

type SavedImage = {
  readonly tag: string;
  readonly label: string;
  readonly layer: Buffer;
  readonly config: Buffer;
};

async function toSaved({ architecture, content, name, path }: OneFileImage): Promise<SavedImage> {
  const layer = await toTar({ [path.slice(1)]: content });
  const toConfig = (label: string): Buffer =>
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
  // The label is the hash of all else.
  const label = sha256(toConfig(""));
  return { tag: `${name}:${label.slice(0, 12)}`, label, layer, config: toConfig(label) };
}

async function findSaved({ endpoint }: ImageEngine, { label, tag }: SavedImage): Promise<string | undefined> {
  type Facts = { readonly Id: string; readonly Config?: { readonly Labels?: Readonly<Record<string, string>> | null } };
  try {
    const { Config, Id } = await getJson<Facts>(endpoint.address, `/images/${tag}/json`, withLimit().abortSignal);
    return Config?.Labels?.[LABEL] === label ? Id : undefined;
  } catch (error) {
    if (statusOf(error) === 404) return undefined;
    throw error;
  }
}

/** In the form of `docker save`, the one that every engine reads; the result is what the engine found wrong. */
async function load(docker: Docker, { config, layer, tag }: SavedImage): Promise<string | undefined> {
  const manifest = [{ Config: "config.json", RepoTags: [tag], Layers: ["layer.tar"] }];
  const archive = await toTar({
    "config.json": config,
    "layer.tar": layer,
    "manifest.json": Buffer.from(JSON.stringify(manifest)),
  });
  const said = await text(await docker.loadImage(Readable.from([archive]), { quiet: true, ...withLimit() }));
  // What fails past the beginning fails with HTTP 200.
  return /"error":"((?:[^"\\]|\\.)*)"/.exec(said)?.[1];
}

/** The same bytes for the same files. */
function toTar(files: Readonly<Record<string, Buffer>>): Promise<Buffer> {
  const archive = pack();
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
