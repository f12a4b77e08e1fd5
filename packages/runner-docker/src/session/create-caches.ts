import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Command, StartOptions } from "@budgie/core";
import { DEFAULT_ACCESS, isReadOnly } from "@budgie/core/policy";
import { volumeMount, type VolumeMount } from "@budgie/sandbox/mounts";
import { CACHE_FOLDER } from "@budgie/sandbox/profile";
import type { Engine } from "../engine/engine.ts";
import { findSharedVolume } from "../engine/find-own.ts";
import { MADE_FOR_MOUNT } from "../engine/to-labels.ts";
import { timeLimit } from "../engine/with-timeout.ts";
import { toStateLabel } from "../image/build-project-image.ts";
import { printInImage, type Printing } from "../image/print-in-image.ts";
import { removeVolume } from "./remove-volume.ts";

/** The label of caches: the state directory whose budgies use them. */
export const CACHE_LABEL = "dev.budgie-cache.state";

/** Limit of a cache. One above it is emptied, and not used before that. */
export const CACHE_BYTES = 5 * 1024 ** 3;

/** The parts of a start that a cache depends on. */
type CacheRequest = {
  readonly command: Pick<Command, "cache" | "env" | "isShortLogin" | "login">;
  readonly imageId: string;
  readonly options: Pick<StartOptions, "access" | "directory">;
};

/** Opens the cache of a start: returns the mount of its volume, or `undefined` if the command has none, or that is full and in use. */
export type OpenCache = (request: CacheRequest) => Promise<VolumeMount | undefined>;

type CachesOptions = Omit<Printing, "command" | "limitMs" | "mounts" | "path"> & {
  /** Default {@link CACHE_BYTES} */
  readonly mostBytes?: number | undefined;
};

/**
 * Creates the caches of a runner. Each has one directory, image, network, login and set of variables: whatever differs in one of these never
 * gets what another left.
 */
export function createCaches(engine: Engine, { mostBytes = CACHE_BYTES, ...place }: CachesOptions): OpenCache {
  const prepared = new Map<string, { readonly isUsable: Promise<boolean>; readonly sinceMs: number }>();
  const labels = { [CACHE_LABEL]: toStateLabel(place.stateDir) };

  async function isThere(name: string): Promise<boolean> {
    const found = await findSharedVolume(engine.docker, { name, labels, purpose: "as a cache" });
    // The engine made it in place of one that was removed, and nobody but root can write there.
    return found !== undefined && Object.keys(MADE_FOR_MOUNT).every((label) => found.Labels?.[label] === undefined);
  }

  /** Returns true if a session may use it now: one that is too large, and in use, is left alone. */
  async function prepare(name: string): Promise<boolean> {
    const mounts = [volumeMount({ name, labels }, CACHE_FOLDER)];
    const print = (script: string, user = place.user): Promise<string> =>
      printInImage(engine, { ...place, user, command: ["/bin/sh", "-c", script], mounts, limitMs: LIMIT_MS });
    if (await isThere(name)) {
      // Its files belong to the sandboxes' user. An agent may have left more of them than can be counted in time.
      const said = await print(`du -sk ${CACHE_FOLDER}`).catch(() => String(Infinity));
      const kibibytes = /^(?:\d+|Infinity)/.exec(said)?.[0];
      // An image without `du` says nothing.
      if (Number(kibibytes ?? 0) * 1024 <= mostBytes) return true;
      if ((await removeVolume(engine.docker.getVolume(name))) !== undefined) return false;
    }
    await engine.docker.createVolume({ Name: name, Labels: labels, ...timeLimit() });
    // Root may open its folder to the user, and has no right to give it away.
    await print(`chmod 1777 ${CACHE_FOLDER}`, { uid: 0, gid: 0 });
    return true;
  }

  async function prepareOnce(name: string): Promise<boolean> {
    const known = prepared.get(name);
    const isFresh = known !== undefined && Date.now() - known.sinceMs < RECHECK_MS;
    if (isFresh && (await isThere(name))) return known.isUsable;
    const isUsable = prepare(name);
    prepared.set(name, { isUsable, sinceMs: Date.now() });
    isUsable.catch(() => prepared.delete(name));
    return isUsable;
  }

  return async ({ command, imageId, options }) => {
    const { cache } = command;
    if (cache === undefined || cache.tools.length === 0) return undefined;
    const { access = DEFAULT_ACCESS, directory } = options;
    const name = `budgie-cache-${hash([place.user.uid, labels, directory, imageId, access.egress, cache.trust, ...listTrust(command)])}`;
    // Before it exists, so that no garbage collection takes it for an unused one.
    noteUse(place.stateDir, name, directory);
    if (!(await prepareOnce(name))) return undefined;
    return { ...volumeMount({ name, labels }, CACHE_FOLDER), isReadOnly: isReadOnly(access.workspace) };
  };
}

/** Lists what an agent of a command may see of its user. */
function listTrust({ env, isShortLogin = false, login = "" }: CacheRequest["command"]): readonly unknown[] {
  return [login, isShortLogin, Object.keys(env).toSorted()];
}

const LIMIT_MS = 2 * 60_000;
// An agent may have filled it meanwhile.
const RECHECK_MS = 5 * 60_000;

/** The folder with a file for each cache: its directory, and the time of its last use. */
export function cachesFolder(stateDir: string): string {
  return join(stateDir, "caches");
}

function noteUse(stateDir: string, name: string, directory: string): void {
  mkdirSync(cachesFolder(stateDir), { recursive: true, mode: 0o700 });
  writeFileSync(join(cachesFolder(stateDir), name), directory, { mode: 0o600 });
}

function hash(parts: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 32);
}
