// Builds images through the engine's API, so that no docker command is needed.
import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { lstat, readFile, readdir, readlink } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";

const TITLE = "org.opencontainers.image.title";
const HASH = "dev.budgie.image.hash";

export async function hasImage(docker, tag) {
  return (await inspect(docker, tag)) !== undefined;
}

export async function findImageId(docker, tag) {
  return (await inspect(docker, tag))?.Id;
}

/** Imports an image from a tar file with a root file system. */
export async function importImage(docker, file, tag) {
  const [repo, version = "latest"] = tag.split(":");
  const changes = [`LABEL ${TITLE}=${repo}`, `CMD ["/bin/sh"]`];
  await follow(docker, await docker.importImage(createReadStream(file), { repo, tag: version, changes }));
}

/** Saves images with their names to a tar file for another engine, in which layers that they share are once. */
export async function saveImages(docker, file, names) {
  await pipeline(await docker.getImages({ names }), createWriteStream(file));
}

export async function loadImage(docker, file) {
  await follow(docker, await docker.loadImage(createReadStream(file)));
}

/** Pulls an image from its registry and tags it with another name. */
export async function pullImage(docker, from, tag) {
  await follow(docker, await docker.pull(from));
  const [repo, version = "latest"] = tag.split(":");
  await docker.getImage(from).tag({ repo, tag: version });
}

/** Tells whether an image was built from exactly this recipe on the current base. */
export async function isBuilt(docker, recipe, tag) {
  const image = await inspect(docker, tag);
  return image?.Config.Labels?.[HASH] === (await hashBuild(docker, recipe));
}

/** Builds a folder with a Dockerfile, unless the image is up to date with the recipe, which determines the rest of the folder. */
export async function buildImage(docker, folder, { tag, recipe = folder }) {
  if (await isBuilt(docker, recipe, tag)) return;
  const before = await inspect(docker, tag);
  const hash = await hashBuild(docker, recipe);
  const labels = { [TITLE]: tag.split(":")[0], [HASH]: hash };
  const context = { context: folder, src: await readdir(folder) };
  await follow(docker, await docker.buildImage(context, { t: tag, labels, forcerm: true }));
  await removeUnused(docker, before);
}

async function inspect(docker, tag) {
  return docker
    .getImage(tag)
    .inspect()
    .catch((error) => {
      if (error.statusCode === 404) return undefined;
      throw error;
    });
}

/** Waits for the end of a stream of events. The engine reports a failed build or pull in its last event, not as an error. */
function follow(docker, stream) {
  return new Promise((resolve, reject) => {
    const onEvent = ({ stream: text, error }) => {
      if (text) process.stdout.write(text);
      if (error) reject(new Error(error));
    };
    docker.modem.followProgress(stream, (error) => (error ? reject(error) : resolve()), onEvent);
  });
}

/** Hashes all inputs of an image: the base's id, and each file's path, mode and content. */
async function hashBuild(docker, folder) {
  const dockerfile = await readFile(join(folder, "Dockerfile"), "utf8");
  const base = await inspect(docker, /^FROM (\S+)/m.exec(dockerfile)[1]);
  const hash = createHash("sha256").update(base?.Id ?? "");
  for (const path of (await readdir(folder, { recursive: true })).toSorted()) {
    const file = join(folder, path);
    const stats = await lstat(file);
    hash.update(`\0${path}\0${stats.mode}\0`);
    if (stats.isSymbolicLink()) hash.update(await readlink(file));
    else if (stats.isFile()) hash.update(await readFile(file));
  }
  return hash.digest("hex");
}

/** Removes an image whose name moved to a new one, unless a container still uses it. */
async function removeUnused(docker, image) {
  if (image === undefined) return;
  await docker
    .getImage(image.Id)
    .remove()
    .catch((error) => {
      if (error.statusCode !== 404 && error.statusCode !== 409) throw error;
    });
}
