import { chmod, mkdir, readdir, readFile, readlink, rm, symlink, writeFile, lstat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { buffer } from "node:stream/consumers";
import type { Runner, RunnerSession } from "@budgie/core";
import type { FilledEntry, WorkspaceCopy } from "@budgie/core/copies";
import { DEFAULT_ACCESS } from "@budgie/core/policy";

/** Returns a runner whose processes seem to work in the directory itself: they get a copy of it, which replaces it after their end. */
export function shareThroughCopies(runner: Runner): Runner {
  return {
    ...runner,
    openSession: async (...given) => wrap(await runner.openSession(...given)),
    resumeSession: async (id) => wrap(await runner.resumeSession(id)),
  };
}

function wrap(session: RunnerSession): RunnerSession {
  return {
    ...session,
    async start(command, options) {
      const { access = DEFAULT_ACCESS, directory, ready, signal } = options;
      const copy = session.copy?.();
      if (copy === undefined) throw new Error("The session has no copy");
      const workspace = access.workspace === "ro" ? ("ro-copy" as const) : ("copy" as const);
      await ready;
      if ((await lstat(directory).catch(() => undefined))?.isDirectory() === true)
        await copy.fill(listEntries(directory), { signal });
      const child = await session.start(command, { ...options, access: { ...access, workspace } });
      const exit = child.exit.then(async (end) => {
        // A session that has ended has none any more, which a test that looks at the files sees.
        await writeBack(copy, directory).catch(() => undefined);
        return end;
      });
      exit.catch(() => undefined);
      return { ...child, exit };
    },
  };
}

/** Lists all but files of other users, which a copy could not keep from its agent. */
async function* listEntries(directory: string): AsyncGenerator<FilledEntry> {
  const found = await readdir(directory, { recursive: true, withFileTypes: true });
  const paths = found.map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1));
  for (const path of paths.toSorted()) {
    const at = join(directory, path);
    const stats = await lstat(at);
    const { mode, size } = stats;
    const bits = mode & 0o777;
    if (stats.isSymbolicLink()) yield { entry: { path, kind: "link", target: await readlink(at) } };
    else if (stats.isDirectory()) yield { entry: { path, kind: "folder", mode: bits } };
    else if (stats.uid === process.getuid?.())
      yield { entry: { path, kind: "file", mode: bits, size }, content: await readFile(at) };
  }
}

async function writeBack(copy: WorkspaceCopy, directory: string): Promise<void> {
  for (const name of await readdir(directory)) await rm(join(directory, name), { recursive: true, force: true });
  for await (const { content, entry } of copy.read()) {
    const at = join(directory, entry.path);
    if (entry.kind === "folder") await mkdir(at, { recursive: true });
    else if (entry.kind === "link") await symlink(entry.target, at);
    else if (entry.kind === "file" && content !== undefined) {
      await mkdir(dirname(at), { recursive: true });
      await writeFile(at, await buffer(content));
      await chmod(at, entry.mode);
    }
  }
}
