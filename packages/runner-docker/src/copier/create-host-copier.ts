import { constants } from "node:fs";
import { lstat, open, readdir, type FileHandle } from "node:fs/promises";
import { platform, release } from "node:os";
import { descriptorPath } from "@budgie/sandbox/mounts";
import type { Engine } from "../engine/engine.ts";
import { createArchiveCopier, type ArchiveCopier, type ArchivePlace } from "./create-archive-copier.ts";
import { withinFillLimit } from "./within-fill-limit.ts";
import { fillFolder } from "./fill-folder.ts";

type HostPlace = ArchivePlace & {
  readonly engine: Engine;
  /** Resolves to the folder of the copy on this machine, to fill it or to look at it; `undefined` where budgie may not */
  readonly findFolder: (use: "fill" | "look") => Promise<string | undefined>;
};

/** Creates the access to a copy by its folder on this machine, and by the engine's archives where that is not accessible. */
export function createHostCopier(place: HostPlace): ArchiveCopier {
  const { engine, findFolder } = place;
  const archive = createArchiveCopier(place);
  const openFolder = async (use: "fill" | "look") =>
    seesVolumes(engine) ? openPlain(await findFolder(use)) : undefined;
  return {
    ...archive,
    async unpack(entries, signal) {
      const folder = await openFolder("fill");
      if (folder === undefined) return archive.unpack(entries, signal);
      try {
        // A volume that is there already is not the new one.
        if ((await readdir(descriptorPath(folder))).length > 0) return await archive.unpack(entries, signal);
        return await fillFolder(folder, entries, { user: place.user, signal: withinFillLimit(signal) });
      } finally {
        await folder.close();
      }
    },
    async list(paths) {
      const folder = await openFolder("look");
      if (folder === undefined) return archive.list(paths);
      try {
        return await Promise.all(paths.map((path) => findKind(`${descriptorPath(folder)}/${path}`)));
      } finally {
        await folder.close();
      }
    },
  };
}

/** Returns true if budgie may use the folders of the engine's volumes itself, which only root may on the engine's machine. */
function seesVolumes({ endpoint, kernel, system, users }: Engine): boolean {
  const isHere = platform() === "linux" && kernel === release() && "socketPath" in endpoint.address;
  return isHere && system !== "Docker Desktop" && users === "same" && process.getuid?.() === 0;
}

async function openPlain(path: string | undefined): Promise<FileHandle | undefined> {
  if (path === undefined) return undefined;
  const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
  // The engine may run where other folders are mounted.
  return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch(() => undefined);
}

async function findKind(path: string): Promise<"file" | "folder" | "other" | undefined> {
  const facts = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (facts === undefined) return undefined;
  if (facts.isDirectory()) return "folder";
  return facts.isFile() ? "file" : "other";
}
