import { lstat, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Stats } from "node:fs";
import { splitHidden } from "../policy/hidden-paths.ts";
import type { Command, StartOptions } from "../runner/runner.ts";

/**
 * Describes what a process is told at its start and keeps until its end: its command, its access, what its caller adds, and the files of
 * the host that it may have read.
 */
export async function readCommandKey(command: Command, { access, standbyKey }: StartOptions): Promise<string> {
  const seeds = (command.home ?? []).flatMap(({ content }) => (typeof content === "string" ? [] : [content.file]));
  const given = [...command.projections.map(({ source }) => source), ...seeds];
  const versions = await Promise.all(given.map((path) => stat(path).then(toVersion, toCode)));
  return JSON.stringify([command, access, standbyKey, versions]);
}

/**
 * Describes a process without a planned sandbox: two starts with equal keys would create the same one. The host's files are compared by
 * their identity and time.
 */
export async function readStartKey(command: Command, options: StartOptions): Promise<string> {
  const { directory, protectedPaths } = options;
  const covered = Object.keys(splitHidden(command).ofWorkspace).map((name) => join(directory, name));
  return JSON.stringify([
    await readCommandKey(command, options),
    directory,
    protectedPaths,
    await stat(directory).then((facts) => `${toIdentity(facts)}:${facts.gid}`, toCode),
    await Promise.all(covered.map((path) => lstat(path).then(toVersion, toCode))),
  ]);
}

function toIdentity({ dev, ino }: Stats): string {
  return `${dev}:${ino}`;
}

function toVersion(facts: Stats): string {
  return `${toIdentity(facts)}:${facts.mtimeMs}:${facts.size}`;
}

function toCode(error: NodeJS.ErrnoException): string | undefined {
  return error.code;
}
