import { createHash } from "node:crypto";
import { isAbsolute } from "node:path";
import { BudgieError } from "@budgie/core";
import { isFile, type ArchiveEntry, type HomeArchive } from "@budgie/sandbox/home";
import { movedError, readOnlyBind, type HeldMounts, type Volume } from "@budgie/sandbox/mounts";
import { SANDBOX } from "@budgie/sandbox/profile";
import type { Engine } from "../engine/engine.ts";
import { timeLimit } from "../engine/with-timeout.ts";
import { createSourceReader, type ShownEntry } from "./create-source-reader.ts";

/** Sends the host's files and folders among a sandbox's mounts to the engine, and resolves to the mounts of what was sent. */
export type SendMounts = (held: HeldMounts) => Promise<HeldMounts>;

/**
 * Creates the sending for a session on an engine that does not see this machine's files. What a sandbox is shown of the host goes into the
 * volume of the session's login, which no agent can write, in a folder with the name of its digest, and is mounted from the engine's own path
 * of that volume: engines before Docker 26 mount no part of a volume. Nothing is sent twice.
 */
export function createMountSender(
  { docker }: Pick<Engine, "docker">,
  { name }: Volume,
  archive: Pick<HomeArchive, "write">,
): SendMounts {
  const sent = new Map<string, Promise<void>>();

  async function findPlace(): Promise<string> {
    const { Mountpoint } = await docker.getVolume(name).inspect(timeLimit());
    if (isAbsolute(Mountpoint)) return Mountpoint;
    throw new BudgieError("RUNNER_UNAVAILABLE", `The engine does not say where it keeps the volume "${name}".`);
  }

  async function send(entries: readonly ShownEntry[]): Promise<string> {
    const digest = digestOf(entries);
    const folder = `${FOLDER}/${digest}`;
    const sending = sent.get(digest) ?? archive.write(toArchive(folder, entries));
    sent.set(digest, sending);
    sending.catch(() => sent.delete(digest));
    await sending;
    return folder;
  }

  return async (held) => {
    const read = createSourceReader();
    const entries: ShownEntry[] = [];
    const places: (string | undefined)[] = [];
    for (const [index, { settings, source }] of held.mounts.entries()) {
      places.push(settings.type === "bind" ? String(index) : undefined);
      if (settings.type !== "bind") continue;
      if (source === undefined) throw movedError(settings.source, "is missing");
      entries.push(...(await read(source, String(index))));
    }
    const [folder, place] = await Promise.all([send(entries), findPlace()]);
    const onEngine = place + folder.slice(SANDBOX.auth.length);
    const mounts = held.mounts.map((mount, index) =>
      places[index] === undefined
        ? mount
        : { settings: readOnlyBind(`${onEngine}/${places[index]}`, mount.settings.target) },
    );
    return { ...held, mounts };
  };
}

const FOLDER = `${SANDBOX.auth}/shown`;

function toArchive(folder: string, entries: readonly ShownEntry[]): readonly ArchiveEntry[] {
  const folders = [FOLDER, folder].map((path) => ({ path, content: "folder" }) as const);
  return [...folders, ...entries.map((entry) => ({ ...entry, path: `${folder}/${entry.path}` }))];
}

function digestOf(entries: readonly ShownEntry[]): string {
  const facts = entries.map((entry) => (isFile(entry) ? [entry.path, entry.mode, hash(entry.content)] : entry.path));
  return hash(JSON.stringify(facts)).slice(0, 32);
}

function hash(content: string | Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}
