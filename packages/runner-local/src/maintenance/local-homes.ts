import { lstatSync } from "node:fs";
import { lstat } from "node:fs/promises";
import { posix } from "node:path";
import { pipeline } from "node:stream/promises";
import { BudgieError, type Owner, type SessionHomes, type SessionId } from "@budgie/core";
import { createOmissions } from "@budgie/core/text";
import { endSessionProcesses } from "../session/end-session-processes.ts";
import { listSessions } from "./list-sessions.ts";
import { measureTurns } from "./measure-turns.ts";
import { removeTree } from "./remove-tree.ts";
import { createSessionRegister } from "../session/session-register.ts";

export type LocalHomesOptions = {
  readonly stateDir: string;
  readonly owner: Owner;
};

/** Creates access to the homes of local sessions. */
export function createLocalHomes({ owner, stateDir }: LocalHomesOptions): SessionHomes {
  const register = createSessionRegister(stateDir);

  async function findHome(id: SessionId): Promise<string> {
    const entry = await register.find(id);
    const found = entry === undefined ? undefined : await lstat(entry.home).catch(() => undefined);
    if (entry !== undefined && found?.isDirectory() === true) return entry.home;
    throw new BudgieError("SESSION_NOT_FOUND", `There is no folder of a session "${id}" that budgie knows of.`);
  }

  return {
    list: () => listSessions(register, owner),
    async remove(id) {
      const entry = await register.find(id);
      if (entry === undefined) return;
      await endSessionProcesses(id);
      await removeTree(entry.home);
      await register.remove(id);
    },
    measure: measureTurns,
    async pack(id, to, { signal }) {
      const home = await findHome(id);
      const leftOut = createOmissions();
      const { pack } = await import("tar-fs");
      const archive = pack(home, {
        strict: false,
        ignore(path) {
          const isLeftOut = isUnsupported(path);
          if (isLeftOut) leftOut.add(`"${path}": tar does not support its type.`);
          return isLeftOut;
        },
        // The same paths as in the archive of a sandbox's home.
        map: (header) => ({ ...header, name: posix.join("home/agent", header.name) }),
      });
      let isReadable = true;
      let isWritable = true;
      archive.once("error", () => (isReadable = !isWritable));
      to.once("error", () => (isWritable = !isReadable));
      await pipeline(archive, to, { signal }).catch((error: unknown) => {
        throw isReadable || signal.aborted ? error : unreadableError(id, error);
      });
      return leftOut.list();
    },
  };
}

function unreadableError(id: SessionId, cause: unknown): BudgieError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new BudgieError(
    "SESSION_UNUSABLE",
    `A file of the session "${id}" cannot be read as it is (${reason}): one that just changed, or that is closed to you. ` +
      `Try again when no turn runs in it.`,
    { cause },
  );
}

/** Returns true if tar-fs omits a file silently. */
function isUnsupported(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found !== undefined && !found.isFile() && !found.isDirectory() && !found.isSymbolicLink();
}
