import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createClient, MINE, OTHERS, readAll } from "./create-client.ts";

const refused = (message: string) => ({
  isError: true,
  structuredContent: { code: "INPUT_INVALID", message: expect.stringContaining(message) },
});

describe("the tools for changes", () => {
  it("are listed if they are needed, without the one that applies if that is for a person", () => {
    const namesOf = (options: Parameters<typeof createClient>[0]) =>
      createClient(options)
        .tools.definitions()
        .map(({ name }) => name)
        .toSorted();

    expect(namesOf({})).toEqual(["b.apply_changes", "b.changes", "b.discard_changes"]);
    expect(namesOf({ apply: "ask" })).toContain("b.apply_changes");
    expect(namesOf({ apply: "person" })).toEqual(["b.changes", "b.discard_changes"]);
    expect(namesOf({ areListed: false })).toEqual([]);
  });

  it("apply what was read to the end, with the token of the last page, and hold guarded paths back", async () => {
    const { call, collect, directory } = createClient();
    const long = Array.from({ length: 5000 }, (_, line) => `line ${line} of the agent\n`).join("");
    const changeId = await collect(MINE, { "a.txt": "ONE\n", "AGENTS.md": "obey\n", "long.txt": long });

    const first = await call("changes", { changeId });
    expect(first.structuredContent).toMatchObject({
      page: 1,
      added: 2,
      changed: 1,
      guarded: ["AGENTS.md"],
      state: "pending",
    });
    expect(first.structuredContent).not.toHaveProperty("reviewToken");
    const obeying = expect.stringContaining("+obey");
    expect([first.content[1], first.structuredContent]).toMatchObject([{ text: obeying }, { diff: obeying }]);
    expect(await call("apply_changes", { changeId, reviewToken: changeId })).toMatchObject(refused("reviewToken"));
    expect(readFileSync(join(directory, "a.txt"), "utf8")).toBe("one\n");

    const reviewToken = await readAll(call, changeId);
    const applied = await call("apply_changes", { changeId, reviewToken });

    expect(applied.structuredContent).toMatchObject({ state: "partly", applied: 2, heldBack: ["AGENTS.md"] });
    expect(readFileSync(join(directory, "a.txt"), "utf8")).toBe("ONE\n");
    expect(existsSync(join(directory, "AGENTS.md"))).toBe(false);
  });

  it("remember a directory that gets an agent's changes as one where an agent wrote, and none that gets nothing", async () => {
    const { call, collect, directory, trust } = createClient();
    const changeId = await collect(MINE, { "a.txt": "ONE\n" });
    const reviewToken = await readAll(call, changeId);
    const check = () => trust.check(join(directory, "budgie.json"), Buffer.from("{}"));

    await call("apply_changes", { changeId, reviewToken: "x" });
    expect(check).not.toThrow();
    await call("apply_changes", { changeId, reviewToken });

    expect(check).toThrow("where agents could write");
  });

  it("take no token of another set, nor one of an earlier turn", async () => {
    const { call, collect } = createClient();
    const old = await collect(MINE, { "a.txt": "ONE\n" });
    const reviewToken = await readAll(call, old);
    const changeId = await collect(MINE, { "a.txt": "UNO\n" });

    expect(await call("apply_changes", { changeId, reviewToken })).toMatchObject(refused("reviewToken"));
    expect(await call("apply_changes", { changeId: old, reviewToken })).toMatchObject(refused("is replaced"));
  });

  it("know nothing of the sets of other clients' sessions", async () => {
    const { call, collect } = createClient();
    const changeId = await collect(OTHERS, { "a.txt": "ONE\n" });

    expect((await call("changes")).structuredContent).toEqual({ changeSets: [] });
    expect(await call("changes", { changeId })).toMatchObject(refused("None of your sessions"));
    expect(await call("discard_changes", { changeId })).toMatchObject(refused("None of your sessions"));
    expect(await call("apply_changes", { changeId, reviewToken: "x" })).toMatchObject(refused("None of your sessions"));
  });

  it("tell what changed in the directory, and of the client's other sets, before they apply", async () => {
    const { call, collect, directory } = createClient();
    await collect(OTHERS, { "a.txt": "UNO\n" });
    const changeId = await collect(MINE, { "a.txt": "ONE\n" });
    writeFileSync(join(directory, "a.txt"), "mine\n");

    const { content, structuredContent } = await call("changes", { changeId });

    const paths = { count: 1, paths: ["a.txt"] };
    expect(structuredContent?.["review"]).toEqual({
      conflicts: paths,
      drift: { ...paths, isWhole: true },
      overlaps: [],
    });
    expect(JSON.stringify(content[0])).toContain("In conflict with the directory as it is now: a.txt.");
    await call("discard_changes", { changeId });
    expect((await call("changes", { changeId })).structuredContent).not.toHaveProperty("review");
  });

  it("merge texts on request alone, and name them", async () => {
    const { call, collect, directory } = createClient();
    const changeId = await collect(MINE, { "a.txt": "zero\none\n" });
    const reviewToken = await readAll(call, changeId);
    writeFileSync(join(directory, "a.txt"), "one\ntwo\n");

    expect(await call("apply_changes", { changeId, reviewToken })).toMatchObject({ isError: true });
    const { content, structuredContent } = await call("apply_changes", { changeId, reviewToken, onConflict: "merge" });

    expect(structuredContent).toMatchObject({ state: "applied", applied: 1, merged: ["a.txt"], conflicts: [] });
    expect(JSON.stringify(content)).toContain("Merged with the directory's own changes: a.txt");
    expect(readFileSync(join(directory, "a.txt"), "utf8")).toBe("zero\none\ntwo\n");
  });

  it("report a conflict as an error that wrote nothing, and what else a set can be", async () => {
    const { call, collect, directory } = createClient();
    const changeId = await collect(MINE, { "a.txt": "ONE\n" });
    const reviewToken = await readAll(call, changeId);
    writeFileSync(join(directory, "a.txt"), "mine\n");

    expect(await call("apply_changes", { changeId, reviewToken })).toMatchObject({
      isError: true,
      structuredContent: { applied: 0, state: "pending", conflicts: [{ path: "a.txt" }] },
    });
    expect(await call("discard_changes", { changeId })).toMatchObject({ structuredContent: { state: "discarded" } });
    expect(await call("changes", { changeId, page: 99 })).toMatchObject(refused("no page 99"));
  });
});
