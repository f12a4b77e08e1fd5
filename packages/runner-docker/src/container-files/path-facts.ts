import type Docker from "dockerode";
import type { PathKind } from "@budgie/sandbox/proc";
import { timeLimit } from "../engine/with-timeout.ts";
import { statusOf } from "../engine/to-budgie-error.ts";

/** The engine's answer about a path in a container. */
export type PathFacts = {
  readonly mode: number;
  readonly size: number;
  /** The final target of a symlink; meaningless for anything else */
  readonly linkTarget: string;
};

/** Bits of Go's file modes, which engines report. */
export const MODE = {
  folder: 2 ** 31,
  link: 2 ** 27,
  notPlain: 2 ** 31 + 2 ** 27 + 2 ** 26 + 2 ** 25 + 2 ** 24 + 2 ** 21 + 2 ** 19,
} as const;

/** Asks the engine about a path without fetching it. Symlinks among its parents are followed, and a symlink at its end is not. */
export async function readPathFacts(container: Docker.Container, path: string): Promise<PathFacts | undefined> {
  try {
    const response = (await container.infoArchive({ path, ...timeLimit() })) as unknown as StatResponse;
    const header = response.headers["x-docker-container-path-stat"] ?? "";
    return JSON.parse(Buffer.from(header, "base64").toString("utf8")) as PathFacts;
  } catch (error) {
    if (statusOf(error) === 404) return undefined;
    throw error;
  }
}

type StatResponse = { readonly headers: Readonly<Record<string, string>> };

/** Returns the kind that an engine's mode means. */
export function toKind(mode: number): PathKind {
  if (hasBits(mode, MODE.link)) return "link";
  return hasBits(mode, MODE.folder) ? "folder" : "other";
}

/** Returns true if a mode has one of these bits. It uses bigints, since JavaScript's bit operators are signed at bit 31. */
export function hasBits(mode: number, bits: number): boolean {
  return (BigInt(mode) & BigInt(bits)) !== 0n;
}
