import { describe, expect, it, onTestFinished } from "vitest";
import { createChangeArchive, type ChangeArchive } from "@budgie/store";
import { createFolder, edit, query } from "./helpers.ts";

const SET = {
  sessionId: "s",
  agent: "worker",
  directory: "/shop",
  root: "1:2",
  createdMs: 1,
  bytes: 3,
  token: "secret-token",
  content: { changes: [] },
};

function open(stateDir: string): ChangeArchive {
  const archive = createChangeArchive({ stateDir });
  onTestFinished(archive.close);
  return archive;
}

describe("the contents of change sets", () => {
  it("are listed by what each set needs from its last change of state on", async () => {
    const archive = open(createFolder());
    await archive.save({ ...SET, id: "c1", digests: ["a", "b"] });
    await archive.save({ ...SET, sessionId: "t", id: "c2", digests: ["b", "c"] });
    const lists = [await archive.digests()];

    await archive.commit(SET.root, { id: "c1", state: "applied", outcome: {}, digests: ["a", "old"] });
    lists.push(await archive.digests());
    await archive.update("c2", "discarded", []);
    lists.push(await archive.digests());
    await archive.remove(["c1"]);
    lists.push(await archive.digests());

    expect(lists.map((each) => each.toSorted())).toEqual([["a", "b", "c"], ["a", "b", "c", "old"], ["a", "old"], []]);
  });

  it("and their sizes are listed without reading the sets", async () => {
    const stateDir = createFolder();
    const archive = open(stateDir);
    await archive.save({ ...SET, id: "c1", digests: ["a"] });
    await archive.save({ ...SET, sessionId: "t", id: "c2", createdMs: 2, digests: ["b"] });
    edit(stateDir, "UPDATE change_sets SET content = 'no JSON' WHERE id = 'c1'");

    expect(await archive.sizes()).toEqual([
      { id: "c2", sessionId: "t", createdMs: 2, bytes: 3 },
      { id: "c1", sessionId: "s", createdMs: 1, bytes: 3 },
    ]);
    expect(await archive.digests()).toEqual(["a", "b"]);
    await expect(archive.list()).rejects.toThrow();
  });

  it("are those that the sets of an older budgie name", async () => {
    const stateDir = createFolder();
    const before = open(stateDir);
    const changes = [
      { path: "a", before: { kind: "file", digest: "a1" }, after: { kind: "file", digest: "a2" } },
      { path: "b", after: { kind: "folder" } },
      { path: "c", before: { kind: "file", digest: "a1" } },
    ];
    await before.save({ ...SET, id: "c1", content: { changes }, digests: [] });
    before.close();
    const [{ user_version: version }] = query(stateDir, "PRAGMA user_version") as [{ user_version: number }];
    edit(stateDir, `DROP TABLE change_objects; PRAGMA user_version = ${version - 1}`);

    expect((await open(stateDir).digests()).toSorted()).toEqual(["a1", "a2"]);
  });
});

describe("the sets that wait in a directory", () => {
  it("are listed without those that do not", async () => {
    const archive = open(createFolder());
    for (const [id, root] of [
      ["c1", "1:2"],
      ["c2", "1:3"],
      ["c3", "1:2"],
      ["c4", "1:2"],
    ] as const)
      await archive.save({ ...SET, id, root, sessionId: id, digests: [] });
    await archive.update("c3", "discarded", []);
    await archive.commit("1:2", { id: "c4", state: "partly", outcome: {}, digests: [] });

    expect((await archive.list({ openIn: "1:2" })).map(({ id }) => id)).toEqual(["c1", "c4"]);
  });
});
