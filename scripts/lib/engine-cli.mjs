// node engine-cli.mjs COMMAND ARGUMENT...: the engine's operations for bash scripts.
import { readFileSync } from "node:fs";
import { listTraces, openEngine } from "./engine.mjs";
import {
  buildImage,
  findImageId,
  hasImage,
  importImage,
  isBuilt,
  loadImage,
  pullImage,
  saveImages,
} from "./images.mjs";

const COMMANDS = {
  where: async ({ name, version, endpoint }) => `${name} ${version} at ${endpoint.url}`,
  traces: async ({ docker }) => JSON.stringify(await listTraces(docker)),
  // Lists what was not there before, except what a budgie that already had something there has added.
  left: async ({ docker }, file) => {
    const before = JSON.parse(readFileSync(file, "utf8"));
    const isOld = ({ instance, title }) =>
      before.some((one) => one.title === title || (instance !== undefined && one.instance === instance));
    const left = (await listTraces(docker)).filter((trace) => !isOld(trace));
    return left.map(({ title }) => title).join("\n");
  },
  has: async ({ docker }, tag) => {
    if (!(await hasImage(docker, tag))) process.exitCode = 1;
  },
  // Prints the name and the id of each image, a line each.
  ids: async ({ docker }, ...names) => {
    const ids = await Promise.all(names.map((name) => findImageId(docker, name)));
    const missing = names.find((_, index) => ids[index] === undefined);
    if (missing !== undefined) throw new Error(`The engine has no image ${missing}.`);
    return names.map((name, index) => `${name} ${ids[index]}`).join("\n");
  },
  import: ({ docker }, file, tag) => importImage(docker, file, tag),
  save: ({ docker }, file, ...names) => saveImages(docker, file, names),
  load: ({ docker }, file) => loadImage(docker, file),
  pull: ({ docker }, from, tag) => pullImage(docker, from, tag),
  built: async ({ docker }, recipe, tag) => {
    if (!(await isBuilt(docker, recipe, tag))) process.exitCode = 1;
  },
  build: ({ docker }, folder, ...[tag, recipe]) => buildImage(docker, folder, { tag, recipe }),
};

const [name, ...args] = process.argv.slice(2);
try {
  const said = await COMMANDS[name](await openEngine(), ...args);
  if (said) console.log(said);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
