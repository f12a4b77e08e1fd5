import { lstat } from "node:fs/promises";
import type { Owner, SessionRecord } from "@budgie/core";
import type { SessionRegister } from "../session/session-register.ts";

/** Lists the sessions whose homes are folders that exist. */
export async function listSessions(register: SessionRegister, owner: Owner): Promise<readonly SessionRecord[]> {
  const { entries } = await register.list();
  const records = entries.map(async ({ id, home, created, owner: record }): Promise<readonly SessionRecord[]> => {
    return (await isThere(home)) ? [{ id, home, created, owner: await owner.stateOf(record, "state-directory") }] : [];
  });
  return (await Promise.all(records)).flat();
}

/** Returns true if a path exists, a dangling symlink included. */
export async function isThere(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined)) !== undefined;
}
