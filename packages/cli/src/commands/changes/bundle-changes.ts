import type { FileHandle } from "node:fs/promises";
import { join, resolve } from "node:path";
import { Writable } from "node:stream";
import { openBaseFiles } from "@budgie/copies/copying";
import { escapeUnseen } from "@budgie/copies/diffs";
import type { StoredSet } from "@budgie/copies/sets";
import { BudgieError, parseSessionId } from "@budgie/core";
import { toShellCommand } from "@budgie/core/text";
import type { Host } from "@budgie/mcp-server";
import type { Config } from "../../config/config.ts";
import { interruptible } from "../../process/interruptible.ts";
import { writeNewFile } from "../../process/write-new-file.ts";
import { shortId } from "../../terminal/expand-id.ts";
import { stringifySafely } from "../../terminal/stringify-safely.ts";
import { LARGEST_HEADER, parseBundleHeader, type BundleReference } from "./parse-bundle-header.ts";
import { withChangeSets } from "./with-change-sets.ts";

export type BundleOptions = {
  readonly id: string;
  /** A file that does not exist yet; default the short id with `.bundle` in the present directory */
  readonly file: string | undefined;
  readonly json: boolean;
};

/** Runs `budgie changes bundle`: writes the commits of the copy that a change set is of into a git bundle. */
export async function bundleChanges(config: Config, { file, id, json }: BundleOptions, host: Host): Promise<number> {
  await withChangeSets(config, host, async ({ find }, owner) => {
    const { directory, id: changeId, sessionId } = await find(id);
    const session = parseSessionId(sessionId);
    const path = resolve(host.cwd, file ?? `${shortId(changeId)}.bundle`);
    const base = await openBaseFiles(join(config.stateDir, "copies")).load(sessionId);
    const { packCommits } = await import("@budgie/runner-docker");
    const { runtime, sandboxImage: image, stateDir } = config;
    const { env: hostEnv, home } = host;
    const references = await interruptible(host, (signal) =>
      writeNewFile(path, async (opened) => {
        // A stream of the file itself would close it.
        const to = new Writable({
          write: (piece: Buffer, _encoding, done) => void opened.appendFile(piece).then(() => done(), done),
        });
        const tips = base?.tips ?? [];
        await packCommits({ owner, stateDir, home, hostEnv, image, runtime, session, tips, to, signal });
        return readReferences(opened, path);
      }),
    );
    const bundle = { file: path, changeId, directory, references };
    host.stdout.write(json ? stringifySafely({ ...bundle, session }) : formatBundle(bundle));
  });
  return 0;
}

async function readReferences(opened: FileHandle, path: string): Promise<readonly BundleReference[]> {
  const { buffer, bytesRead } = await opened.read(Buffer.alloc(LARGEST_HEADER), 0, LARGEST_HEADER, 0);
  const references = parseBundleHeader(buffer.subarray(0, bytesRead));
  if (references !== undefined && references.length > 0) return references;
  throw new BudgieError("SESSION_UNUSABLE", `git in the copy printed no bundle, so nothing is in "${path}".`);
}

type Bundle = Pick<StoredSet, "directory"> & {
  readonly file: string;
  readonly changeId: string;
  readonly references: readonly BundleReference[];
};

// More lines than anybody reads.
const MOST_SHOWN = 20;

/** Returns what the bundle has, and what to type to fetch it. An agent chose the names, so only plain ones stand in a command. */
function formatBundle({ changeId, directory, file, references }: Bundle): string {
  const shown = references.slice(0, MOST_SHOWN);
  // A branch, which comes before HEAD, names the same commit better.
  const named = new Map(
    references.toReversed().flatMap(({ commit, name }) => (PLAIN.test(name) ? [[commit, name]] : [])),
  );
  const specs = [...named.values()].slice(0, MOST_SHOWN).map((name) => {
    const branch = name.replace(/^refs\/(?:heads\/|tags\/)?/, "");
    return `${name}:refs/heads/budgie/${shortId(changeId)}/${branch}`;
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
