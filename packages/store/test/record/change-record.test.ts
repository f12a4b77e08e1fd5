import { describe, expect, it, onTestFinished } from "vitest";
import { createChangeArchive } from "@budgie/store";
import { createFolder, edit, makeRun, open, openArchive, query } from "../helpers.ts";

const SET = {
  id: "c1",
  sessionId: "s",
  agent: "worker",
  directory: "/shop",
  root: "1:2",
  createdMs: 1,
  bytes: 3,
  token: "secret-token",
  content: { files: ["a.ts"] },
  digests: ["d1", "d2"],
};

/** Writes a turn, an apply, an undo, a discard and a turn to the record. */
async function recordChanges(): Promise<string> {
  const stateDir = createFolder();
  const log = open(stateDir);
  const archive = createChangeArchive({ stateDir });
  onTestFinished(archive.close);
  await log.finish(makeRun());
  await archive.save(SET);
  await archive.save({ ...SET, id: "c2" });
  await archive.commit(SET.root, { id: "c1", state: "applied", outcome: {}, digests: [] });
  await archive.commit(SET.root, { id: "c1", state: "undone", outcome: {}, digests: [] });
  await archive.update("c2", "discarded");
  await log.finish(makeRun());
  return stateDir;
}

describe("the record of change sets", () => {
  it("has applies, undos and discards between the turns, and no secret of them", async () => {
    const stateDir = await recordChanges();

    expect(await openArchive(stateDir).verify()).toMatchObject({ turns: 2, changes: 3, removed: 0 });
    expect((await openArchive(stateDir).verify()).fault).toBeUndefined();
    expect(query(stateDir, "SELECT kind, detail ->> 'state' AS state FROM record ORDER BY position")).toEqual([
      { kind: "turn", state: null },
      { kind: "apply", state: "applied" },
      { kind: "undo", state: "undone" },
      { kind: "discard", state: "discarded" },
      { kind: "turn", state: null },
    ]);
    expect(JSON.stringify(query(stateDir, "SELECT * FROM record"))).not.toContain(SET.token);
  });

  it.each([
    ["changed facts", "UPDATE record SET detail = replace(detail, '/shop', '/other') WHERE position = 3", "entry", 3],
    ["removed facts", "UPDATE record SET detail = NULL WHERE position = 3", "entry", 3],
    ["facts in place of a turn", "UPDATE record SET detail = '{}' WHERE position = 1", "entry", 1],
    ["another kind", "UPDATE record SET kind = 'discard' WHERE position = 2", "entry", 2],
    ["a removed apply", "DELETE FROM record WHERE position = 2", "missing", 3],
    ["changed results of an undo", "UPDATE change_sets SET outcome = '[1]' WHERE id = 'c1'", "outcome", 3],
    ["removed results of an undo", "UPDATE change_sets SET outcome = NULL WHERE id = 'c1'", "outcome", 3],
    ["results of a discard, which has none", "UPDATE change_sets SET outcome = '[1]' WHERE id = 'c2'", "outcome", 4],
    ["a changed set", "UPDATE change_sets SET content = '{}' WHERE id = 'c2'", "changed", 4],
  ])("names %s", async (...[, sql, kind, entry]) => {
    const stateDir = await recordChanges();
    const before = await openArchive(stateDir).verify();

    edit(stateDir, sql);

    expect(before.fault).toBeUndefined();
    expect((await openArchive(stateDir).verify()).fault).toMatchObject({ kind, entry });
  });

  it("goes on when sets expire, and loses applies with the turns before them", async () => {
    const stateDir = await recordChanges();
    const archive = createChangeArchive({ stateDir });
    onTestFinished(archive.close);
    await archive.remove(["c1", "c2"]);
    const expired = await openArchive(stateDir).verify();
    const [{ id } = { id: "" }] = query(stateDir, "SELECT id FROM runs ORDER BY number") as readonly { id: string }[];
    await openArchive(stateDir).remove({ ids: [id] });

    expect(expired).toMatchObject({ turns: 2, changes: 3 });
    expect(expired.fault).toBeUndefined();
    expect(await openArchive(stateDir).verify()).toMatchObject({ turns: 1, changes: 0, removed: 4 });
  });
});
