import { lstat } from "node:fs/promises";
import type { Runner, RunnerSession } from "@budgie/core";
import { DEFAULT_ACCESS } from "@budgie/core/policy";
import { listFolder } from "./list-folder.ts";
import { replaceFolder } from "./replace-folder.ts";

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
      const { access = DEFAULT_ACCESS, directory, ready } = options;
      const copy = session.copy?.();
      if (copy === undefined) throw new Error("The session has no copy");
      const workspace = access.workspace === "ro" ? ("ro-copy" as const) : ("copy" as const);
      await ready;
      if ((await lstat(directory).catch(() => undefined))?.isDirectory() === true)
        await copy.fill(listFolder(directory));
      const child = await session.start(command, { ...options, access: { ...access, workspace } });
      const exit = child.exit.then(async (end) => {
        // A session that has ended has none any more, which a test that looks at the files sees.
        await replaceFolder(directory, copy).catch(() => undefined);
        return end;
      });
      exit.catch(() => undefined);
      return { ...child, exit };
    },
  };
}
