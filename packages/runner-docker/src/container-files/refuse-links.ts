import type Docker from "dockerode";
import { BudgieError } from "@budgie/core";
import { type OpenRoot, lookAt, type PathKind } from "@budgie/sandbox/proc";
import { LOOK_TIMEOUT_MS, openContainerRoot } from "./open-container-root.ts";
import { readPathFacts, toKind } from "./path-facts.ts";

/** Calls a function while a container runs, and tells it if budgie can look into the engine's containers. */
export type WithRunningContainer = <T>(use: (isVisible: boolean) => Promise<T>) => Promise<T>;

/** The container in which the folders of a home are checked. */
export type CheckedContainer = {
  readonly handle: Docker.Container;
  /** Looks into a running container without the engine; default through `/proc` */
  readonly openRoot?: OpenRoot | undefined;
  /** Starts it for a look. Left out where the engine can be asked about symlinks */
  readonly whileRunning?: WithRunningContainer | undefined;
};

/** Throws `SESSION_UNUSABLE` if a parent is not a folder: an engine's answer is about the requested path only if all its parents are real folders. */
export function refuseLinks(container: CheckedContainer, folders: ReadonlySet<string>): Promise<void> {
  return refusePlanted(container, [...folders], (kind) => kind !== "folder");
}

/** Throws `SESSION_UNUSABLE` if one of these paths, each after its parents, is what `isPlanted` says. A missing path is not. */
export async function refusePlanted(
  container: CheckedContainer,
  paths: readonly string[],
  isPlanted: (kind: PathKind, path: string) => boolean,
): Promise<void> {
  const kinds = await look(container, paths);
  const found = kinds.findIndex((kind, index) => typeof kind === "string" && isPlanted(kind, paths[index] ?? ""));
  if (found >= 0) {
    throw new BudgieError(
      "SESSION_UNUSABLE",
      `The agent replaced "${paths[found]}" in its home by something else, and budgie lets nothing go through it. Begin a new session.`,
    );
  }
  const failed = kinds.find((kind) => kind instanceof Error);
  if (failed !== undefined) throw failed;
}

/** Returns true if all these paths, the highest first, are folders. */
export async function areFolders(container: CheckedContainer, paths: readonly string[]): Promise<boolean> {
  const kinds = await look(container, paths);
  const other = kinds.findIndex((kind) => kind !== "folder");
  if (kinds[other] instanceof Error) throw kinds[other];
  return other < 0;
}

type Look = readonly (PathKind | undefined | Error)[];

async function look(container: CheckedContainer, paths: readonly string[]): Promise<Look> {
  const { handle, whileRunning } = container;
  const seen =
    (await lookInside(container, paths)) ??
    (await whileRunning?.((isVisible) => lookInside(container, paths, { isRequired: isVisible })));
  return seen ?? askEngine(handle, paths);
}

/**
 * Looks without the engine; `undefined` unless the session container runs on this machine. Throws `RUNNER_UNAVAILABLE` instead if the
 * look is required.
 */
async function lookInside(
  { handle, openRoot }: CheckedContainer,
  paths: readonly string[],
  { isRequired }: { readonly isRequired: boolean } = { isRequired: false },
): Promise<Look | undefined> {
  const options = { openRoot, timeoutMs: isRequired ? LOOK_TIMEOUT_MS : 0 };
  await using root = await openContainerRoot(handle, options).catch((error: unknown) => {
    if (isRequired) throw error;
    return undefined;
  });
  const seen = root && (await lookAt(root.path, paths).catch(() => undefined));
  if (seen === undefined && isRequired) throw unseenError();
  return seen;
}

/** Asks the engine. A path below a file gives an error, but then that file is reported first. */
async function askEngine(handle: Docker.Container, paths: readonly string[]): Promise<Look> {
  return Promise.all(
    paths.map((path) => readPathFacts(handle, path).then((facts) => facts && toKind(facts.mode), errorOf)),
  );
}

function unseenError(): BudgieError {
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    "The container of the session could not be looked into, and budgie uses no folder of a home that it has not checked. Check the engine, and try again.",
  );
}

function errorOf(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
