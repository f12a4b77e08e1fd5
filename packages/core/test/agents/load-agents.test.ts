import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, relative } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { loadAgents } from "@budgie/core";
import type { LoadedAgents } from "@budgie/core/agents";
import { createTemporaryFolder } from "../helpers/temporary-folder.ts";

const TOOLS = ["fs_read", "fs_write"];

describe("loadAgents", () => {
  it("loads a sub-agent, without the prefix of its description", () => {
    const { agents, folder, problems } = load({
      "tester.json": { name: "test-agent", description: "Sub-Agent: Tests things", allowedTools: TOOLS },
    });

    expect(agents).toEqual([
      {
        name: "test-agent",
        description: "Tests things",
        whenToUse: "",
        file: join(folder, "agents", "tester.json"),
        promptFile: undefined,
        writesFiles: true,
        model: undefined,
        hasModel: false,
        named: [],
      },
    ]);
    expect(problems).toEqual([]);
  });

  it("reads their hooks without judging them", () => {
    const guard = { trigger: "preToolUse", command: "bash .kiro/hooks/guard.sh" };
    const { agents, problems } = load({
      "a.json": { ...subAgent("a"), hooks: { preToolUse: [{ matcher: "fs_write", command: guard.command }] } },
      "b.json": { ...subAgent("b"), hooks: 7 },
    });

    expect(agents.map(({ hooks }) => hooks)).toEqual([[guard], []]);
    expect(problems).toEqual([]);
  });

  it("returns absolute paths of their files if the folder's is relative", () => {
    const { folder } = load({ "a.json": { ...subAgent("a"), prompt: "file://a.md" } });
    const agentsDir = relative(process.cwd(), join(folder, "agents"));

    const { agents } = loadAgents({ agentsDir, promptsDir: folder });

    expect(agents).toMatchObject([{ file: `${folder}/agents/a.json`, promptFile: `${folder}/agents/a.md` }]);
  });

  it("loads them in the order of their file names", () => {
    const { agents } = load({ "b.json": subAgent("first"), "c.json": subAgent("z"), "a.json": subAgent("second") });

    expect(agents.map(({ name }) => name)).toEqual(["second", "first", "z"]);
  });

  it("silently ignores other agents, the orchestrator, and files that are not JSON", () => {
    const { agents, problems } = load({
      "mine.json": { name: "mine", description: "My own helper" },
      "bare.json": { name: "bare" },
      "blank.json": { name: "blank", description: null },
      "orchestrator.json": subAgent("orchestrator"),
      "agent_config.json.example": "{",
      "notes.md": "{",
    });

    expect(agents).toEqual([]);
    expect(problems).toEqual([]);
  });

  it.each([
    ["is not JSON", '{ "name": "x",\n "description"; }\n'],
    ["is empty", ""],
    ["is cut off", '{ "name": "x'],
    ["is a list", "[]"],
    ["has a name of another type", { name: 3 }],
    ["has a name that is a path", { name: "../x" }],
    ["has a name that leaves its folder", { name: "a/../b" }],
    ["has a name that looks like a flag", { name: "--trust-all-tools" }],
    ["has tools of another type", { name: "x", allowedTools: 7 }],
    ["has a list as its permissions", { name: "x", permissions: [{ capability: "shell", effect: "deny" }] }],
    ["has a rule without an effect", { name: "x", permissions: { rules: [{ capability: "shell" }] } }],
  ])("reports a file that %s by its path, in one line, and loads the others", (_what, content) => {
    const { agents, folder, problems } = load({ "bad.json": content, "good.json": subAgent("good") });

    expect(agents.map(({ name }) => name)).toEqual(["good"]);
    expect(problems).toEqual([expect.stringContaining(`Skipped the agent file "${folder}/agents/bad.json": `)]);
    expect(problems[0]).not.toContain("\n");
  });

  it("names the line and the column where a file is no JSON", () => {
    const { folder, problems } = load({ "bad.json": '{\n  "name": "x",\n  description: 1\n}' });

    expect(problems).toEqual([`Skipped the agent file "${folder}/agents/bad.json": line 3, column 3: invalid symbol.`]);
  });

  it("names the wrong field of a file", () => {
    const { problems } = load({ "bad.json": { name: "", description: "sub-agent: x" } });

    expect(problems[0]).toMatch(/bad\.json": name: /);
  });

  it("reports a folder that has the name of an agent file", () => {
    const folder = createTemporaryFolder();
    mkdirSync(join(folder, "x.json"));

    expect(loadAgents({ agentsDir: folder, promptsDir: folder }).problems).toEqual([
      expect.stringMatching(/^Skipped the agent file ".*x\.json": it is not a file\.$/),
    ]);
  });

  it("keeps the agents of a folder that is moved away while its files are read", () => {
    const { folder, ...before } = load({ "a.json": subAgent("a"), "b.json": subAgent("b") });
    const folders = { agentsDir: join(folder, "agents"), promptsDir: join(folder, "prompts") };
    const files = new Map(before.files);
    // The files are looked up here between the listing of the folder and their reading.
    vi.spyOn(files, "get").mockImplementationOnce((path) => {
      renameSync(folders.agentsDir, join(folder, "moved"));
      return before.files.get(path);
    });

    const { agents, problems } = loadAgents(folders, { ...before, files });

    expect(agents).toBe(before.agents);
    expect(problems).toContainEqual(expect.stringMatching(/^There is no agents directory .* stay as they were\.$/));
  });

  it("reports a missing agents directory, and what to do", () => {
    const agentsDir = join(createTemporaryFolder(), "none");

    expect(loadAgents({ agentsDir, promptsDir: agentsDir })).toMatchObject({
      agents: [],
      problems: [expect.stringMatching(/^There is no agents directory ".*none"\. .*the option "agentsDir"\.$/)],
    });
  });

  it.each([[undefined], [[]], [["fs_read"]], [["fs_write"]]])(
    "warns that an agent with the tools %j cannot write an answer file",
    (allowedTools) => {
      const { agents, problems } = load({ "a.json": { name: "a", description: "sub-agent: A", allowedTools } });

      expect(agents).toMatchObject([{ name: "a", writesFiles: false }]);
      expect(problems).toEqual([expect.stringMatching(/may not use both fs_read and fs_write: "a"\. Add/)]);
    },
  );

  it("warns of hundreds of such agents in one line", () => {
    const files = Array.from(
      { length: 257 },
      (_, index) => [`a${index}.json`, { ...subAgent(`a${index}`), allowedTools: [] }] as const,
    );

    const { problems } = load(Object.fromEntries(files));

    expect(problems).toEqual([expect.stringMatching(/fs_write: "a0", "a1", "a10", "a100", "a101" and 252 more\. Add/)]);
  });

  it("adds the prompt file's profile to the description, and takes the model from it", () => {
    const { agents } = load(
      { "a.json": subAgent("tester") },
      { "tester.md": "---\ncapabilities: [Testing]\nmodel: m1\n---\n# Tester\n" },
    );

    expect(agents).toMatchObject([{ description: "About tester\n\nCapabilities:\n- Testing", model: "m1" }]);
  });

  it("finds the prompt file by the agent's name, not by its file's name", () => {
    const { agents } = load({ "file.json": subAgent("name") }, { "file.md": "---\nmodel: wrong\n---\n" });

    expect(agents).toMatchObject([{ model: undefined }]);
  });

  it("reports a malformed prompt file, and keeps the agent", () => {
    const { agents, folder, problems } = load({ "a.json": subAgent("a") }, { "a.md": "---\nmodel: [\n---\n" });

    expect(agents).toMatchObject([{ name: "a", description: "About a", model: undefined }]);
    expect(problems).toEqual([expect.stringContaining(`The frontmatter of "${folder}/prompts/a.md" is not YAML`)]);
  });

  it("describes an agent without a description", () => {
    const { agents } = load({ "a.json": { ...subAgent("a"), description: "sub-agent:" } });

    expect(agents).toMatchObject([{ description: "The agent a." }]);
  });

  it("describes an agent whose description is invisible", () => {
    const { agents } = load({ "a.json": { ...subAgent("a"), description: "sub-agent: \u200B\u2060" } });

    expect(agents).toMatchObject([{ description: "The agent a." }]);
  });

  it.each([
    ["file:///opt/prompts/a.md", () => "/opt/prompts/a.md"],
    ["file://./a.md", (folder: string) => join(folder, "agents", "a.md")],
    ["file://../prompts/a b.md", (folder: string) => join(folder, "prompts", "a b.md")],
    ["file://~/a.md", () => join(homedir(), "a.md")],
    ["Review what you are given.", () => undefined],
    ["See file:///a.md", () => undefined],
    [null, () => undefined],
  ])("resolves the prompt %j as Kiro does", (prompt, toPath) => {
    const { agents, folder } = load({ "a.json": { ...subAgent("a"), prompt } });

    expect(agents[0]?.promptFile).toBe(toPath(folder));
  });
});

function subAgent(name: string): { name: string; description: string; allowedTools: string[] } {
  return { name, description: `sub-agent: About ${name}`, allowedTools: TOOLS };
}

type Files = Readonly<Record<string, unknown>>;

function load(agents: Files, prompts: Files = {}): LoadedAgents & { folder: string } {
  const folder = createTemporaryFolder();
  write(join(folder, "agents"), agents);
  write(join(folder, "prompts"), prompts);
  const loaded = loadAgents({ agentsDir: join(folder, "agents"), promptsDir: join(folder, "prompts") });
  return { ...loaded, folder };
}

function write(folder: string, files: Files): void {
  mkdirSync(folder);
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(join(folder, name), typeof content === "string" ? content : JSON.stringify(content));
  }
}
