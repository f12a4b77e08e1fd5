import { lstatSync, readdirSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { BudgieError } from "@budgie/core";
import type { Host } from "@budgie/mcp-server";
import type { Entry } from "./config-format.ts";
import { isBudgie, serverOf, withoutServer, withServer, type Target } from "./with-server.ts";
import { loadClientFile, type ClientFile } from "./load-client-file.ts";
import { loadTarget, type Chosen } from "./load-target.ts";
import { BACKUP_MARK, removeClientFile, replaceClientFile } from "./replace-client-file.ts";
import { formatDiff } from "./format-diff.ts";

export type UninstallOptions = Chosen & { readonly dryRun: boolean };

/** Runs `budgie uninstall`: removes from a client's configuration what install added. */
export function runUninstall({ dryRun, ...chosen }: UninstallOptions, host: Host): number {
  const { file, target } = loadTarget(chosen, host);
  const say = (line: string): void => void host.stdout.write(`${line}\n`);
  const server = serverOf(file.text, target);
  if (server === undefined) {
    say(`Nothing to remove: "${file.path}" has no "${chosen.name}".`);
    return 0;
  }
  if (!isBudgie(server)) throw foreignError(chosen.name, file.path);
  const before = findBefore(file, target, server);
  const text = before?.text ?? withoutServer(file.text, target);
  host.stdout.write(formatDiff(file.text, text, target));
  say(dryRun ? "Nothing was written (--dry-run)." : putBack(file, text, before));
  return 0;
}

function foreignError(name: string, path: string): BudgieError {
  return new BudgieError(
    "CONFIG_INVALID",
    `"${name}" in "${path}" starts something other than budgie. Nothing was changed; remove it yourself, or name budgie's ` +
      `with --name.`,
  );
}

type Before = {
  readonly text: string;
  /** `undefined` if there was no file before */
  readonly backup: string | undefined;
};

/** Finds the state before install, byte for byte, if install on it results in the present text. */
function findBefore(file: ClientFile, target: Target, server: Entry): Before | undefined {
  // The target of a symlink existed before install.
  const none = isLink(file.path) ? [] : [{ text: "", backup: undefined }];
  const candidates = [...loadBackups(file.path), ...none];
  return candidates.find(({ text }) => isBefore(text, file.text, { target, server }));
}

function loadBackups(path: string): readonly Before[] {
  const mark = basename(path) + BACKUP_MARK;
  const names = readdirSync(dirname(path)).filter((name) => name.startsWith(mark));
  const newest = names.toSorted().toReversed().slice(0, MOST_BACKUPS);
  return newest.map((name) => join(dirname(path), name)).flatMap(loadBackup);
}

/** Loads a backup. Ignores an unreadable one. */
function loadBackup(backup: string): readonly Before[] {
  try {
    return isLink(backup) ? [] : [{ text: loadClientFile(backup, undefined).text, backup }];
  } catch {
    return [];
  }
}

function isLink(path: string): boolean {
  return lstatSync(path).isSymbolicLink();
}

const MOST_BACKUPS = 20;

type Made = { readonly target: Target; readonly server: Entry };

function isBefore(text: string, now: string, { server, target }: Made): boolean {
  try {
    return !isBudgie(serverOf(text, target)) && withServer(text, target, server) === now;
  } catch {
    return false;
  }
}

/** Writes the earlier state. Returns a message about it. */
function putBack(file: ClientFile, text: string, before: Before | undefined): string {
  if (before !== undefined && before.backup === undefined) {
    removeClientFile(file);
    return `Removed "${file.path}", which had nothing else.`;
  }
  const backup = replaceClientFile(file, { text, mode: 0o600, keepsBackup: before?.backup === undefined });
  if (before?.backup === undefined) return `Wrote "${file.path}", and kept what was there as "${backup}".`;
  rmSync(before.backup);
  return `Wrote "${file.path}" as it was before install, and removed the copy of that.`;
}
