import { existsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createSessionId } from "@budgie/core";
import type { OwnerRecord } from "@budgie/core/owners";
import type { RegisterEntry } from "@budgie/core/sessions";
import { createSessionRegister, type RegisterFile } from "@budgie/store";
import { createFolder, edit, makeRun, open as openLog } from "./helpers.ts";

describe("the register of sessions", () => {
  it("returns its entries, the last used first, after a restart", async () => {
    const stateDir = createFolder();
    const [older, newer] = [
      makeSession({ usedMs: 1 }),
      makeSession({ usedMs: 2, keepMs: undefined, begun: false, totals: {} }),
    ];
    const first = open(stateDir);
    await first.save(older);
    await first.save(newer);
    first.close();

    const second = open(stateDir);

    expect(await second.list()).toEqual([newer, older]);
    expect(await second.find(older.id)).toEqual(older);
    expect(await second.find(createSessionId())).toBeUndefined();
    second.close();
  });

  it("creates no file before the first session, not even to list sessions", async () => {
    const stateDir = join(createFolder(), "state");
    const register = open(stateDir);

    expect(await register.list()).toEqual([]);
    expect(await register.pass(createSessionId(), "a", makeOwner("b"))).toBe(false);
    await register.remove(createSessionId());

    expect(existsSync(stateDir)).toBe(false);
  });

  it("updates and removes entries", async () => {
    const register = open(createFolder());
    const session = makeSession({ begun: false });
    await register.save(session);

    const totals = { totalTokens: 9, sessionCost: { amount: 0.5, currency: "USD" } };
    await register.save({ ...session, begun: true, usedMs: 99, keepMs: 7, totals });
    const found = await register.find(session.id);
    await register.remove(session.id);

    expect(found).toEqual({ ...session, begun: true, usedMs: 99, keepMs: 7, totals });
    expect(await register.find(session.id)).toBeUndefined();
    register.close();
  });

  it("keeps the path at which a session's sandboxes show its directory", async () => {
    const register = open(createFolder());
    const session = makeSession({ workspacePath: "same" });
    await register.save(session);

    await register.save({ ...session, workspacePath: undefined, usedMs: 99 });

    expect(await register.find(session.id)).toEqual({ ...session, usedMs: 99 });
    register.close();
  });

  it("keeps the origin of a session that a server uses later", async () => {
    const register = open(createFolder());
    const session = makeSession({ origin: "run" });
    await register.save(session);

    await register.save({ ...session, origin: undefined, usedMs: 99 });

    expect(await register.find(session.id)).toEqual({ ...session, usedMs: 99 });
    register.close();
  });

  it("gives a session to one of several simultaneous callers", async () => {
    const stateDir = createFolder();
    const session = makeSession();
    const registers = Array.from({ length: 8 }, () => open(stateDir));
    await registers[0]?.save(session);

    const passed = await Promise.all(
      registers.map((register, index) => register.pass(session.id, session.owner.instance, makeOwner(`new-${index}`))),
    );

    const winner = passed.indexOf(true);
    expect(passed.filter((won) => won)).toHaveLength(1);
    expect((await registers[0]?.find(session.id))?.owner).toEqual(makeOwner(`new-${winner}`));
    for (const register of registers) register.close();
  });

  it("does not let a former owner register a session as its own again", async () => {
    const register = open(createFolder());
    const session = makeSession();
    await register.save(session);
    await register.pass(session.id, session.owner.instance, makeOwner("new"));

    await register.save({ ...session, usedMs: 99 });

    expect(await register.find(session.id)).toEqual({ ...session, owner: makeOwner("new") });
    register.close();
  });

  it("lies in the run log's file, for the user alone", async () => {
    const stateDir = createFolder();
    const [register, log] = [open(stateDir), openLog(stateDir)];
    const session = makeSession();

    await Promise.all([register.save(session), log.finish(makeRun())]);

    expect(statSync(join(stateDir, "runs.sqlite3")).mode & 0o777).toBe(0o600);
    expect(await register.list()).toEqual([session]);
    expect(log.reports).toEqual([]);
    register.close();
    log.close();
  });

  it.each(["{", '"nobody"', "{}"])(
    "skips a session whose owner is recorded as %s, and lists all others",
    async (owner) => {
      const stateDir = createFolder();
      const register = open(stateDir);
      const [damaged, whole] = [makeSession(), makeSession()];
      await register.save(damaged);
      await register.save(whole);
      edit(stateDir, `UPDATE sessions SET owner = '${owner}' WHERE id = '${damaged.id}'`);

      expect(await register.list()).toEqual([whole]);
      expect(await register.find(damaged.id)).toBeUndefined();
      register.close();
    },
  );

  it("fails no turn if it cannot be used, is reported once, and fails lookups", async () => {
    const stateDir = createFolder();
    writeFileSync(join(stateDir, "runs.sqlite3"), "This is no database. ".repeat(500));
    const register = open(stateDir);

    await register.save(makeSession());
    await register.save(makeSession());
    await register.remove(createSessionId());

    expect(register.reports).toEqual([
      expect.stringMatching(/^Sessions are not recorded: .*file is not a database.*Make it writable/),
    ]);
    await expect(register.list()).rejects.toMatchObject({ code: "STATE_UNUSABLE" });
  });
});

function open(stateDir: string): RegisterFile & { readonly reports: readonly string[] } {
  const reports: string[] = [];
  return { ...createSessionRegister({ stateDir, report: (line) => void reports.push(line) }), reports };
}

function makeOwner(instance: string): OwnerRecord {
  return { instance, host: "here", lock: `/state/owners/${instance}` };
}

function makeSession(over: Partial<RegisterEntry> = {}): RegisterEntry {
  return {
    id: createSessionId(),
    agent: "tester",
    directory: "/project",
    isolation: "container",
    begun: true,
    createdMs: 1_700_000_000_000,
    usedMs: 1_700_000_001_000,
    keepMs: 86_400_000,
    owner: makeOwner("old"),
    ...over,
  };
}
