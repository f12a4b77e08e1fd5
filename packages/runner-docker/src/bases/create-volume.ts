import type Docker from "dockerode";
import { timeLimit } from "../engine/with-timeout.ts";

/** Creates a volume, and resolves to what the engine says of it, or of the one that has its name already. dockerode drops that answer. */
export function createVolume(
  { modem }: Pick<Docker, "modem">,
  options: Docker.VolumeCreateOptions,
): Promise<Docker.VolumeInspectInfo> {
  const statusCodes = { 200: true, 201: true, 500: "server error" };
  const request = { path: "/volumes/create", method: "POST", options, statusCodes, ...timeLimit() };
  return new Promise((resolve, reject) => {
    const done = (error: unknown, answer: unknown): void =>
      error === null ? resolve(answer as Docker.VolumeInspectInfo) : reject(error as Error);
    (modem as Modem).dial(request, done);
  });
}

type Modem = { readonly dial: (request: object, done: (error: unknown, answer: unknown) => void) => void };
