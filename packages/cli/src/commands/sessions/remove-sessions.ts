import { parseSessionId, type SessionId } from "@budgie/core";
import type { Config } from "../../config/config.ts";
import { withFlags, type Host } from "@budgie/mcp-server";
import { withSessions, type KnownHome, type KnownHomes } from "./known-homes.ts";
import { expandId } from "../../terminal/expand-id.ts";
import { stringifySafely } from "../../terminal/stringify-safely.ts";

export type RemoveOptions = { readonly ids: readonly string[]; readonly json: boolean };

/** Runs `budgie sessions rm`: removes sessions without a live owner. Resolves to 1 if one could not be removed. */
export async function removeSessions(config: Config, options: RemoveOptions, host: Host): Promise<number> {
  const outcomes = await withSessions(config, host, async (sessions) => {
    const known = new Map((await sessions.list()).map((session) => [session.record.id, session]));
    const all = [...known.keys()];
    const ids = new Set(options.ids.map((id) => parseSessionId(expandId(id, all))));
    const results: Outcome[] = [];
    for (const id of ids) results.push({ id, why: await removeOne(sessions, known.get(id)) });
    return results;
  });
  const removed = outcomes.filter(({ why }) => why === undefined).map(({ id }) => id);
  const failed = outcomes.filter(({ why }) => why !== undefined);
  host.stdout.write(options.json ? stringifySafely({ removed, failed }) : outcomesText(outcomes));
  return failed.length === 0 ? 0 : 1;
}

type Outcome = { readonly id: SessionId; readonly why: string | undefined };

const OWNED: Partial<Record<KnownHome["state"], string>> = {
  live: "a budgie that runs has it; end that one first",
  foreign: "its budgie is on another machine or in another container, and cannot be asked",
};

/** Removes a session. Resolves to the error message if that fails. */
async function removeOne({ owner, register }: KnownHomes, session: KnownHome | undefined): Promise<string | undefined> {
  if (session === undefined) return "there is no such session";
  const { entry, homes, record, state } = session;
  if (OWNED[state] !== undefined) return OWNED[state];
  try {
    await owner.hold();
    // A budgie that is starting may take the session over.
    const isOurs = entry === undefined || (await register.pass(record.id, entry.owner.instance, owner.record));
    if (!isOurs) return OWNED.live;
    await homes.remove(record.id);
    await register.remove(record.id);
    return undefined;
  } catch (error) {
    // One failure, such as a protected folder, must not stop the others.
    return withFlags(error instanceof Error ? error.message : String(error));
  }
}

function outcomesText(outcomes: readonly Outcome[]): string {
  const lines = outcomes.map(({ id, why }) => (why === undefined ? `removed ${id}` : `could not remove ${id}: ${why}`));
  return `${lines.join("\n")}\n`;
}
