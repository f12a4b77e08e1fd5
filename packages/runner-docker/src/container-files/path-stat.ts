import { lstat, stat } from "node:fs/promises";
import type Docker from "dockerode";
import { timeLimit } from "../engine/time-limits.ts";
import { statusOf } from "../engine/docker-errors.ts";

/** The engine's answer about a path in a container. */
export type PathFacts = {
  readonly mode: number;
  readonly size: number;
  /** The final target of a symlink; meaningless for anything else */
  readonly linkTarget: string;
};

/** The kind of a path, as far as it matters for resolving paths through it. */
export type PathKind = "folder" | "link" | "other";

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

/**
 * Inspects paths below a container's root on this machine, parents first, and stops at the first symlink. Throws if the container ended
 * meanwhile: nothing is found below its root then.
 */
export async function lookAt(root: string, paths: readonly string[]): Promise<readonly (PathKind | undefined)[]> {
  const kinds = new Map<string, PathKind | undefined>();
  for (const path of paths.toSorted((a, b) => a.length - b.length)) {
    const kind = await kindOf(root + path);
    kinds.set(path, kind);
    if (kind === "link") break;
  }
  await stat(`${root}/`);
  return paths.map((path) => kinds.get(path));
}

async function kindOf(path: string): Promise<PathKind | undefined> {
  try {
    const facts = await lstat(path);
    if (facts.isSymbolicLink()) return "link";
    return facts.isDirectory() ? "folder" : "other";
  } catch (error) {
    // ENOTDIR: a parent is no folder, so the path does not exist.
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
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

/** Lists the parents of an absolute path, the highest first. */
export function foldersOf(path: string): readonly string[] {
  const parts = path.split("/").slice(1, -1);
  return parts.map((_, index) => `/${parts.slice(0, index + 1).join("/")}`);
}
