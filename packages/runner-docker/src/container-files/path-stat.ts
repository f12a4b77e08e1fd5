import { lstat } from "node:fs/promises";
import type Docker from "dockerode";
import { withLimit } from "../engine/time-limits.ts";
import { statusOf } from "../engine/docker-errors.ts";

/** What an engine tells of a path in a container. */
export type PathFacts = {
  readonly mode: number;
  readonly size: number;
  /** Where a link leads in the end; for anything else it may say anything */
  readonly linkTarget: string;
};

/** What of a path matters to who would go through it. */
export type PathKind = "folder" | "link" | "other";

/** Bits of Go's file modes, as engines tell them. */
export const MODE = {
  folder: 2 ** 31,
  link: 2 ** 27,
  notPlain: 2 ** 31 + 2 ** 27 + 2 ** 26 + 2 ** 25 + 2 ** 24 + 2 ** 21 + 2 ** 19,
} as const;

/** Asks about a path without fetching it; links on the way to it are followed, and it itself is not. */
export async function readPathFacts(container: Docker.Container, path: string): Promise<PathFacts | undefined> {
  try {
    const response = (await container.infoArchive({ path, ...withLimit() })) as unknown as StatResponse;
    const header = response.headers["x-docker-container-path-stat"] ?? "";
    return JSON.parse(Buffer.from(header, "base64").toString("utf8")) as PathFacts;
  } catch (error) {
    if (statusOf(error) === 404) return undefined;
    throw error;
  }
}

/** Asks about several paths in a folder of this machine, the higher ones first, as far as no link is on the way to the next. */
export async function lookAt(root: string, paths: readonly string[]): Promise<readonly (PathKind | undefined)[]> {
  const kinds = new Map<string, PathKind | undefined>();
  for (const path of paths.toSorted((a, b) => a.length - b.length)) {
    const kind = await kindOf(root + path);
    kinds.set(path, kind);
    if (kind === "link") break;
  }
  return paths.map((path) => kinds.get(path));
}

async function kindOf(path: string): Promise<PathKind | undefined> {
  try {
    const facts = await lstat(path);
    if (facts.isSymbolicLink()) return "link";
    return facts.isDirectory() ? "folder" : "other";
  } catch (error) {
    // Below what is no folder there is nothing either.
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
}

type StatResponse = { readonly headers: Readonly<Record<string, string>> };

/** What a mode of an engine's says. */
export function toKind(mode: number): PathKind {
  if (hasBits(mode, MODE.link)) return "link";
  return hasBits(mode, MODE.folder) ? "folder" : "other";
}

/** Tells whether a mode has one of these bits: bit 31 is out of reach of JavaScript's own operators. */
export function hasBits(mode: number, bits: number): boolean {
  return (BigInt(mode) & BigInt(bits)) !== 0n;
}

/** The folders on the way to an absolute path, the highest first. */
export function foldersOf(path: string): readonly string[] {
  const parts = path.split("/").slice(1, -1);
  return parts.map((_, index) => `/${parts.slice(0, index + 1).join("/")}`);
}
