import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import type { SessionId } from "@budgie/core";
import type { GitFolders } from "@budgie/core/policy";
import { readOnlyBind, volumeMount, type MountSettings } from "@budgie/sandbox/mounts";
import { SANDBOX } from "@budgie/sandbox/profile";
import { volumeNames } from "./session-volumes.ts";

/** The commits that the user has already: hashes, for a copy; or the repository around a subfolder, whose session has a git of its own. */
export type Known = readonly string[] | Pick<GitFolders, "common" | "own">;

/** The volume with a repository that an agent wrote, and the command that packs its commits. */
export type CommitsPlace = {
  readonly role: "copy" | "home";
  readonly command: readonly [string, ...string[]];
  readonly mounts: readonly MountSettings[];
};

const FOLDER = "/workspace";

/** Returns the place of a session's commits, and how they are packed without those that the user has. */
export function toCommitsPlace(session: SessionId, known: Known): CommitsPlace {
  return "common" in known ? toSubfolder(session, known) : toCopy(session, known);
}

function toCopy(session: SessionId, tips: readonly string[]): CommitsPlace {
  return {
    role: "copy",
    command: [...toGit(["-C", FOLDER]), ...BUNDLE, "--all", "--ignore-missing", "--not", ...tips],
    mounts: [readOnly(volumeNames(session).copy, FOLDER)],
  };
}

function toSubfolder(session: SessionId, { common, own }: Pick<GitFolders, "common" | "own">): CommitsPlace {
  const folder = `--git-dir=${SANDBOX.subfolderGit}`;
  const shown = [join(own, "HEAD"), ...["objects", "refs", "packed-refs"].map((name) => join(common, name))];
  return {
    role: "home",
    // The hashes of the user's repository are read here, since git's formats of references are its own business.
    command: ["sh", "-c", WITHOUT_SHOWN, "sh", SANDBOX.repository, ...toGit([folder]), ...BUNDLE, "--all", "--stdin"],
    mounts: [
      readOnly(volumeNames(session).home, "/home"),
      ...shown.filter(existsSync).map((path) => readOnlyBind(path, `${SANDBOX.repository}/${basename(path)}`)),
    ],
  };
}

const WITHOUT_SHOWN =
  'shown=$1; shift; { git --git-dir="$shown" rev-parse HEAD; git --git-dir="$shown" for-each-ref --format="%(objectname)"; } | sed "s/^/^/" | exec "$@"';

function toGit(where: readonly string[]): readonly [string, ...string[]] {
  const settings = ["safe.directory=*", "core.fsmonitor=false", "core.hooksPath=/dev/null"];
  return ["git", ...where, ...settings.flatMap((setting) => ["-c", setting])];
}

const BUNDLE = ["bundle", "create", "--quiet", "-"] as const;

function readOnly(name: string, target: string): MountSettings {
  return { ...volumeMount({ name, labels: {} }, target), isReadOnly: true };
}
