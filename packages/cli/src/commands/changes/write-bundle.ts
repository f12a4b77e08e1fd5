import type { FileHandle } from "node:fs/promises";
import { resolve } from "node:path";
import { Writable } from "node:stream";
import { escapeUnseen } from "@budgie/copies/diffs";
import type { StoredSet } from "@budgie/copies/sets";
import { BudgieError, parseSessionId, type Owner } from "@budgie/core";
import { toShellCommand } from "@budgie/core/text";
import type { Host } from "@budgie/mcp-server";
import type { Known } from "@budgie/runner-docker";
import type { Config } from "../../config/config.ts";
import { interruptible } from "../../process/interruptible.ts";
import { writeNewFile } from "../../process/write-new-file.ts";
import { shortId } from "../../terminal/expand-id.ts";
import { LARGEST_HEADER, parseBundleHeader, type BundleReference } from "./parse-bundle-header.ts";

export type BundleSource = Pick<StoredSet, "directory"> & {
  /** The id of what the commits belong to, by whose beginning branches are named */
  readonly id: string;
  readonly session: string;
  /** The hashes that the directory's repository has, or that repository */
  readonly without: Known;
};

/** A file that does not exist yet; default the short id with `.bundle` in the present directory. */
type BundleFile = { readonly file: string | undefined };

export type Bundle = Pick<BundleSource, "directory" | "id"> & {
  readonly file: string;
  readonly references: readonly BundleReference[];
};

/** Writes the commits of a session into a git bundle. git runs in a container, which the owner holds. */
export async function writeBundle(
  { directory, file, id, session, without }: BundleSource & BundleFile,
  config: Config,
  { host, owner }: { readonly host: Host; readonly owner: Owner },
): Promise<Bundle> {
  const path = resolve(host.cwd, file ?? `${shortId(id)}.bundle`);
  const { packCommits } = await import("@budgie/runner-docker");
  const { runtime, sandboxImage: image, stateDir } = config;
  const place = { owner, stateDir, home: host.home, hostEnv: host.env, image, runtime };
  const references = await interruptible(host, (signal) =>
    writeNewFile(path, async (opened) => {
      // A stream of the file itself would close it.
      const to = new Writable({
        write: (piece: Buffer, _encoding, done) => void opened.appendFile(piece).then(() => done(), done),
      });
      await packCommits({ ...place, session: parseSessionId(session), without, to, signal });
      return readReferences(opened, path);
    }),
  );
  return { file: path, id, directory, references };
}

async function readReferences(opened: FileHandle, path: string): Promise<readonly BundleReference[]> {
  const { buffer, bytesRead } = await opened.read(Buffer.alloc(LARGEST_HEADER), 0, LARGEST_HEADER, 0);
  const references = parseBundleHeader(buffer.subarray(0, bytesRead));
  if (references !== undefined && references.length > 0) return references;
  throw new BudgieError("SESSION_UNUSABLE", `git in the sandbox printed no bundle, so nothing is in "${path}".`);
}

// More lines than anybody reads.
const MOST_SHOWN = 20;

/** Returns what the bundle has, and what to type to fetch it. An agent chose the names, so only plain ones stand in a command. */
export function formatBundle({ directory, file, id, references }: Bundle): string {
  const shown = references.slice(0, MOST_SHOWN);
  // A branch, which comes before HEAD, names the same commit better.
  const named = new Map(
    references.toReversed().flatMap(({ commit, name }) => (PLAIN.test(name) ? [[commit, name]] : [])),
  );
  const specs = [...named.values()].slice(0, MOST_SHOWN).map((name) => {
    const branch = name.replace(/^refs\/(?:heads\/|tags\/)?/, "");
    return `${name}:refs/heads/budgie/${shortId(id)}/${branch}`;
  });
  const more = references.length > shown.length ? [`  and ${references.length - shown.length} more`] : [];
  const fetch = ["git", "-C", directory, "-c", "fetch.fsckObjects=true", "fetch", file, ...specs];
  return [
    `Wrote ${escapeUnseen(file)}, a git bundle of`,
    ...shown.map(({ commit, name }) => `  ${commit.slice(0, 12)} ${escapeUnseen(name)}`),
    ...more,
    ...(specs.length === 0
      ? []
      : [
          "It holds what an agent committed. To look at it in branches of its own, type",
          escapeUnseen(toShellCommand(fetch)),
        ]),
    "",
  ].join("\n");
}

// No option, no pattern, no path upwards, and nothing that a shell reads.
const PLAIN = /^(?:HEAD|refs(?:\/[A-Za-z0-9_][\w.-]*)+)$/;
