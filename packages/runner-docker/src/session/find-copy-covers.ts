import type Docker from "dockerode";
import { BudgieError } from "@budgie/core";
import type { Cover, CoverEntry, Hidden } from "@budgie/core/policy";
import type { CopyCover } from "@budgie/sandbox/mounts";
import { hasBits, MODE, readPathFacts } from "../container-files/path-facts.ts";

/**
 * Finds the entries of a copy that have to be covered: those in which an earlier turn, or the directory itself, can redefine the agent. Throws
 * `WORKSPACE_INVALID` for a symlink or anything else that no mount covers reliably. No process of the session runs meanwhile.
 */
export async function findCopyCovers(
  container: Docker.Container,
  folder: string,
  hidden: Hidden["ofWorkspace"],
): Promise<readonly CopyCover[]> {
  const covers = Object.entries(hidden).map(([name, cover]) => findCover({ container, folder }, name, cover));
  return (await Promise.all(covers)).flat();
}

type Place = { readonly container: Docker.Container; readonly folder: string };

async function findCover(place: Place, name: string, cover: Cover): Promise<readonly CopyCover[]> {
  if (typeof cover === "string" || !("entries" in cover)) return findEntry(place, name, cover);
  const kind = await findKind(place, name);
  if (kind === undefined || (kind === "file" && cover.mayBeFile === true)) return [];
  if (kind !== "folder") throw uncoverable(name, "directory");
  const entries = Object.entries(cover.entries).map(([child, entry]) => findEntry(place, `${name}/${child}`, entry));
  return (await Promise.all(entries)).flat();
}

async function findEntry(place: Place, path: string, entry: CoverEntry): Promise<readonly CopyCover[]> {
  const kind = await findKind(place, path);
  if (kind === undefined) return [];
  const expected = typeof entry === "object" && "content" in entry ? "file" : "folder";
  if (kind !== expected) throw uncoverable(path, expected === "file" ? "file" : "directory");
  return [{ path, entry }];
}

async function findKind({ container, folder }: Place, path: string): Promise<"file" | "folder" | "other" | undefined> {
  const facts = await readPathFacts(container, `${folder}/${path}`);
  if (facts === undefined) return undefined;
  if (hasBits(facts.mode, MODE.folder)) return "folder";
  return hasBits(facts.mode, MODE.notPlain) ? "other" : "file";
}

function uncoverable(path: string, kind: string): BudgieError {
  return new BudgieError(
    "WORKSPACE_INVALID",
    `"${path}" in the session's copy is not a plain ${kind}, so the sandbox cannot hide definitions of agents. Begin a new session.`,
  );
}
