import type { Engine } from "../engine/engine.ts";
import { findImage, type SandboxImage } from "./find-image.ts";

/** Finds an image that a command names, once. Throws like {@link findImage}. */
export type FindNamedImage = (name: string) => Promise<SandboxImage>;

/** Creates a memory of the images that were found. One that is missing is looked for again. */
export function createImageCache(engine: Pick<Engine, "endpoint">): FindNamedImage {
  const found = new Map<string, Promise<SandboxImage>>();
  return (name) => {
    const image = found.get(name) ?? findImage(engine, name);
    found.set(name, image);
    image.catch(() => found.delete(name));
    return image;
  };
}
