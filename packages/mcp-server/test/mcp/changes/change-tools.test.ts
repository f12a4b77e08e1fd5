import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it, onTestFinished } from "vitest";
import { createOwner } from "@budgie/core";
import { openFileTrust } from "@budgie/core/policy";
import type { FoundEntry } from "@budgie/core/copies";
import { createChangeSets } from "@budgie/copies/sets";
import { buildChangeTools } from "../../../src/mcp/changes/build-change-tools.ts";
import { createChangeTools } from "../../../src/mcp/changes/change-tools.ts";

const MINE = "7b6c3f0e-4a1f-4f0c-9c53-5f6b8f1a2d3e";
const OTHERS = "11111111-4a1f-4f0c-9c53-5f6b8f1a2d3e";

const REPORT = { entries: 1, bytes: 4, leftOut: [], notes: [] };

const NAMING = { tools: "agents", toolNames: "dotted", toolPrefix: "b." } as const;

type Call = (name: string, input?: unknown) => Promise<CallToolResult>;

/** Creates a client's tools, and a way to collect change sets in a directory with `a.txt`. */
function createClient({
  apply = "caller",
  areListed = true,
}: { apply?: "caller" | "person"; areListed?: boolean } = {}) {
  const top = realpathSync(mkdtempSync(join(tmpdir(), "budgie-changes-")));
  onTestFinished(() => rmSync(top, { recursive: true, force: true }));
  const directory = join(top, "work");
  mkdirSync(directory);
  writeFileSync(join(directory, "a.txt"), "one\n");
  const digest = createHash("sha256").update("one\n").digest("hex");
  const base = { entries: [{ path: "a.txt", kind: "file", mode: 0o644, size: 4, digest } as const] };
  const sets = createChangeSets({ stateDir: top });
  onTestFinished(sets.close);
  const owner = createOwner({ stateDir: top });
  onTestFinished(() => owner.release());
  const trust = openFileTrust(top, String);
  const tools = createChangeTools({
    tools: buildChangeTools({ ...NAMING, apply }),
    areListed: () => areListed,
    openSets: async () => sets,
    bases: { load: async () => ({ fillId: "1", directory, report: REPORT, tips: [], manifest: base, startedMs: 0 }) },
    owner,
    fileTrust: trust,
    isOwn: (sessionId) => sessionId === MINE,
  });
  const call: Call = async (name, input = {}) => (await tools.call(`b.${name}`, input, {})) ?? { content: [] };

  async function collect(sessionId: string, files: Readonly<Record<string, string>>): Promise<string> {
    async function* copy(): AsyncIterable<FoundEntry> {
      for (const [path, text] of Object.entries(files)) {
        const size = Buffer.byteLength(text);
        yield { entry: { path, kind: "file", mode: 0o644, size }, content: Readable.from([Buffer.from(text)]) };
      }
    }
    const stored = await sets.collect({ base, copy: copy(), sessionId, agent: "worker", directory });
    return stored?.id ?? "";
  }

  return { call, collect, directory, tools, trust };
}

/** Reads all pages of a set, and returns the token of the last. */
async function readAll(call: Call, changeId: string): Promise<unknown> {
  const first = await call("changes", { changeId });
  const pages = Number(first.structuredContent?.["pages"]);
  const last = await call("changes", { changeId, page: pages });
  return last.structuredContent?.["reviewToken"];
}

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
    expect(JSON.stringify(first)).toContain("+obey");
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
