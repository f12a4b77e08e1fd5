import { lstat } from "node:fs/promises";
import type { Owner, HomeRecord } from "@budgie/core";
import type { HomeRegister } from "../session/session-register.ts";

/** Lists the sessions whose homes are folders that exist. */
export async function listSessions(register: HomeRegister, owner: Owner): Promise<readonly HomeRecord[]> {
  const { entries } = await register.list();
  const records = entries.map(async ({ id, home, created, owner: record }): Promise<readonly HomeRecord[]> => {
    return (await isThere(home)) ? [{ id, home, created, owner: await owner.stateOf(record, "state-directory") }] : [];
  });
  return (await Promise.all(records)).flat();
}

/** Returns true if a path exists, a dangling symlink included. */
export async function isThere(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined)) !== undefined;
}
