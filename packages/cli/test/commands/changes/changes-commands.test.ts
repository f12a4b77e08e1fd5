import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { text as readText } from "node:stream/consumers";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import type { FoundEntry, TreeEntry } from "@budgie/core/copies";
import { createChangeSets } from "@budgie/copies/sets";
import { listChanges } from "../../../src/commands/changes/list-changes.ts";
import { diffChanges, showChangeSet } from "../../../src/commands/changes/show-change-set.ts";
import type { Config } from "../../../src/config/config.ts";
import { createBudgieUser, type BudgieUser } from "../../helpers/start-budgie.ts";
import { toSilentHost } from "../../helpers/to-silent-host.ts";

const SESSION = "7b6c3f0e-4a1f-4f0c-9c53-5f6b8f1a2d3e";

/** Collects these files of an agent's copy, whose base is `a.txt`, and returns the directory and the change id. */
async function collect({ host }: BudgieUser, files: Readonly<Record<string, string>>) {
  const directory = join(realpathSync(host.home), "shop");
  mkdirSync(directory);
  const text = "one\n";
  writeFileSync(join(directory, "a.txt"), text);
  const digest = createHash("sha256").update(text).digest("hex");
  const base: TreeEntry = { path: "a.txt", kind: "file", mode: 0o644, size: text.length, digest };
  const entries = Object.entries(files).map(([path, content]): FoundEntry => ({
    entry: { path, kind: "file", mode: 0o644, size: content.length },
    content: Readable.from([Buffer.from(content)]),
  }));
  async function* read(): AsyncIterable<FoundEntry> {
    yield* entries;
  }
  const sets = createChangeSets({ stateDir: join(host.home, ".local/state/budgie") });
  const stored = await sets.collect({
    base: { entries: [base] },
    read,
    sessionId: SESSION,
    agent: "worker",
    directory,
  });
  sets.close();
  return { directory, id: stored?.id ?? "" };
}

type Terminal = { readonly columns: number; readonly env?: NodeJS.ProcessEnv };

/** Returns a terminal of this width, without a pager. */
function toTerminal({ host: { home } }: BudgieUser, { columns, env }: Terminal) {
  const stdout = new PassThrough();
  const host = toSilentHost({ home, cwd: home, columns, stdout, env: { PAGER: "", ...env } });
  const config = { stateDir: join(home, ".local/state/budgie"), keepChangesMs: 60_000 } as Config;
  return { host: { ...host, stdout }, config };
}

function endOf({ stdout }: { readonly stdout: PassThrough }): Promise<string> {
  stdout.end();
  return readText(stdout);
}

/** Prints the diff of a set on a terminal. */
async function diff(user: BudgieUser, id: string, terminal: Terminal): Promise<string> {
  const { config, host } = toTerminal(user, terminal);
  expect(await diffChanges(config, id, host)).toBe(0);
  return endOf(host);
}

describe("budgie changes", () => {
  it("lists pending sets as a table, and one's paths with what needs care", async () => {
    await using user = await createBudgieUser();
    const { directory, id } = await collect(user, { "a.txt": "ONE\n", "AGENTS.md": "obey\n", "\u001b[2Jx": "x" });

    const listed = await user.command(["changes"]);
    const shown = await user.command(["changes", "show", id.slice(0, 8)]);

    expect(listed.stdout.split("\n")).toEqual([
      expect.stringMatching(/^CHANGES +FOUND +AGENT +STATE +OF THEM +DIRECTORY +SESSION$/),
      expect.stringMatching(`^${id.slice(0, 8)} .* worker +pending +2 added, 1 changed, 1 guarded +.*/shop +7b6c3f0e$`),
      "",
    ]);
    expect(shown.stdout).toContain(`directory  ${directory}\n`);
    expect(shown.stdout.split("\n").slice(-4)).toEqual([
      "added      \\u{1b}[2Jx",
      "added      AGENTS.md  (guarded)",
      "changed    a.txt",
      "",
    ]);
    expect(JSON.parse((await user.command(["changes", "ls", "--json"])).stdout)).toMatchObject([
      { id, added: 2, changed: 1, guarded: ["AGENTS.md"], state: "pending" },
    ]);
  });

  it("paints diffs on a terminal as git does, and nothing that an agent wrote as its own words", async () => {
    await using user = await createBudgieUser();
    const forged = "one\n guarded: not\n-- a/b.txt\n\u001b[2J\n";
    const { id } = await collect(user, { "a.txt": forged, "AGENTS.md": "obey\n" });

    const painted = await diff(user, id, { columns: 100 });
    const plain = await diff(user, id, { columns: 100, env: { NO_COLOR: "1" } });

    expect(painted.split("\n")).toEqual([
      "\u001b[1madded AGENTS.md\u001b[22m",
      "\u001b[33m  guarded: the host runs or obeys it, so only a person applies it\u001b[39m",
      "\u001b[1m--- /dev/null\u001b[22m",
      "\u001b[1m+++ b/AGENTS.md\u001b[22m",
      "\u001b[36m@@ -0,0 +1,1 @@\u001b[39m",
      "\u001b[32m+obey\u001b[39m",
      "\u001b[1mchanged a.txt\u001b[22m",
      "\u001b[1m--- a/a.txt\u001b[22m",
      "\u001b[1m+++ b/a.txt\u001b[22m",
      "\u001b[36m@@ -1,1 +1,4 @@\u001b[39m",
      " one",
      "\u001b[32m+ guarded: not\u001b[39m",
      "\u001b[32m+-- a/b.txt\u001b[39m",
      "\u001b[32m+\\u{1b}[2J\u001b[39m",
      "",
    ]);
    expect(plain).toBe(stripVTControlCharacters(painted));
    expect((await user.command(["changes", "diff", id])).stdout).toBe(plain);
  });

  it.each([60, 100, 200])("fits what is no name of a path to a terminal of %i columns", async (columns) => {
    await using user = await createBudgieUser();
    const { id } = await collect(user, { "a.txt": "ONE\n", "AGENTS.md": "obey\n", "build.rs": "x", "BUILD.rs": "y" });
    const { config, host } = toTerminal(user, { columns });

    expect(await listChanges(config, { all: false, json: false }, host)).toBe(0);
    expect(await showChangeSet(config, { id, json: false }, host)).toBe(0);

    const lines = (await endOf(host)).split("\n").filter((line) => !/^(?:changes|directory) /.test(line));
    expect(lines.length).toBeGreaterThan(10);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(columns);
  });

  it("shows all counts on 100 columns, and the end of the directory", async () => {
    await using user = await createBudgieUser();
    const { directory } = await collect(user, { "b.txt": "x", "c.txt": "x", "AGENTS.md": "obey\n" });
    const atHome = toTerminal(user, { columns: 100 });
    const elsewhere = toTerminal(user, { columns: 100 });

    await listChanges(
      atHome.config,
      { all: false, json: false },
      { ...atHome.host, home: realpathSync(user.host.home) },
    );
    await listChanges(elsewhere.config, { all: false, json: false }, { ...elsewhere.host, home: "/nonexistent" });

    expect(await endOf(atHome.host)).toMatch(/ worker +pending +3 added, 1 removed, 1 guarded +~\/shop\n/);
    expect(await endOf(elsewhere.host)).toContain(directory.length > 32 ? `  …${directory.slice(-31)}\n` : directory);
  });

  it("applies a set but for guarded paths, and takes it back", async () => {
    await using user = await createBudgieUser();
    const { directory, id } = await collect(user, { "a.txt": "ONE\n", "AGENTS.md": "obey\n" });

    const applied = await user.command(["changes", "apply", id.slice(0, 8)]);

    expect(applied).toMatchObject({ exitCode: 0, stderr: "" });
    expect(applied.stdout).toContain("Applied 1 path in");
    expect(applied.stdout).toContain("held back: AGENTS.md\n");
    expect(readFileSync(join(directory, "a.txt"), "utf8")).toBe("ONE\n");
    expect(existsSync(join(directory, "AGENTS.md"))).toBe(false);

    const undone = await user.command(["changes", "undo", id]);
    expect(undone.stdout).toContain("Took back 1 path in");
    expect(readFileSync(join(directory, "a.txt"), "utf8")).toBe("one\n");
    expect((await user.command(["changes", "ls"])).stdout).toContain("no pending change sets");
  });

  it("applies what is configuration so that it is refused until a person trusts it", async () => {
    await using user = await createBudgieUser();
    const { directory, id } = await collect(user, { "a.txt": "ONE\n", "budgie.json": "{}" });
    const list = () => user.command(["changes", "ls", "--config", join(directory, "budgie.json")]);

    await user.command(["changes", "apply", id]);

    expect(existsSync(join(directory, "budgie.json"))).toBe(true);
    expect(await list()).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("where agents could write") });
  });

  it("names a conflict, writes nothing and exits with 1", async () => {
    await using user = await createBudgieUser();
    const { directory, id } = await collect(user, { "a.txt": "ONE\n", "b.txt": "two\n" });
    writeFileSync(join(directory, "a.txt"), "mine\n");

    const { stdout } = await user.command(["changes", "show", id]);
    expect(stdout).toContain("conflict   a.txt\ndrift      at least 1 of the copied paths changed in the directory\n");
    const stopped = await user.command(["changes", "apply", id]);
    expect(stopped.exitCode).toBe(1);
    expect(stopped.stdout).toMatch(/^Wrote nothing into .*\nconflict: a.txt: it changed/);
    expect(existsSync(join(directory, "b.txt"))).toBe(false);

    const skipped = await user.command(["changes", "apply", id, "--conflicts", "skip", "--json"]);
    expect(JSON.parse(skipped.stdout)).toMatchObject({ state: "partly", conflicts: [{ path: "a.txt" }] });
    expect(existsSync(join(directory, "b.txt"))).toBe(true);
  });

  it("merges texts on request, and names them", async () => {
    await using user = await createBudgieUser();
    const { directory, id } = await collect(user, { "a.txt": "zero\none\n" });
    writeFileSync(join(directory, "a.txt"), "one\ntwo\n");

    const merged = await user.command(["changes", "apply", id, "--conflicts", "merge"]);

    expect(merged).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("\nmerged: a.txt\n") });
    expect(readFileSync(join(directory, "a.txt"), "utf8")).toBe("zero\none\ntwo\n");
  });

  it("leaves guarded paths, and with `apply: person` or `ask` all, to a person at a terminal", async () => {
    await using user = await createBudgieUser();
    const { directory, id } = await collect(user, { "a.txt": "ONE\n", "AGENTS.md": "obey\n" });

    const guarded = await user.command(["changes", "apply", id, "--guarded"]);
    const all = await user.command(["changes", "apply", id], { BUDGIE_APPLY: "person" });
    const asked = await user.command(["changes", "apply", id], { BUDGIE_APPLY: "ask" });

    for (const { exitCode, stderr } of [guarded, all, asked]) {
      expect(exitCode).not.toBe(0);
      expect(stderr).toContain("at a terminal");
    }
    expect(readFileSync(join(directory, "a.txt"), "utf8")).toBe("one\n");
  });

  it("discards a set, which is not applied after that", async () => {
    await using user = await createBudgieUser();
    const { id } = await collect(user, { "a.txt": "ONE\n" });

    expect((await user.command(["changes", "discard", id])).stdout).toBe(`discarded ${id.slice(0, 8)}\n`);

    const { exitCode, stderr } = await user.command(["changes", "apply", id]);
    expect(exitCode).not.toBe(0);
    expect(stderr).toContain("is discarded");
  });
});
