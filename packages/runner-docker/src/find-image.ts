import type Docker from "dockerode";
import { withLimit } from "./api-limit.ts";
import { imageNotFound, statusOf, toBudgieError } from "./docker-errors.ts";
import { getJson } from "./get-json.ts";

/** An image that is on the engine. */
export type SandboxImage = {
  readonly id: string;
  readonly name: string;
  readonly created: Date;
};

type Facts = { readonly Id: string; readonly Created: string };

/** Finds an image by name or id, or throws `IMAGE_NOT_FOUND`. Nothing is pulled: what runs is what the user put there. */
export async function findImage(docker: Docker, name: string): Promise<SandboxImage> {
  try {
    const facts = await getJson<Facts>(docker, `/images/${encodeURI(name)}/json`, withLimit().abortSignal);
    return { id: facts.Id, name, created: new Date(facts.Created) };
  } catch (error) {
    throw statusOf(error) === 404 ? imageNotFound(name, error) : toBudgieError(error, name);
  }
}
