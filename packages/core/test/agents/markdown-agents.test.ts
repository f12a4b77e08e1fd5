import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, expect, it } from "vitest";
import { loadAgents } from "../../src/agents/load-agents.ts";
import { createTemporaryFolder } from "../helpers/temporary-folder.ts";

const AGENT = { name: "a", description: "sub-agent: A", allowedTools: ["read", "write"] };

describe("loadAgents, of a folder as Kiro 3 has it", () => {
  it("loads Markdown agents and those in folders, but no prompts, backups or files for other programs", () => {
    const { agents, folder, problems } = load({
      "agents/b.md": "---\ndescription: 'sub-agent: B'\ntools: Read, Write\nallowedTools: Read, Write\n---\nBe B.",
      "agents/a.json": JSON.stringify(AGENT),
      "agents/a.json.bak": JSON.stringify(AGENT),
      "agents/team/c.md":
        "---\nname: planner\ndescription: 'sub-agent: C'\nallowedTools: '*'\nmodel: m\n---\nfile://./p.md",
      "agents/team/deep/d.json": JSON.stringify({ ...AGENT, name: undefined }),
      "agents/prompt.md": "Be B.",
      "agents/team/README.md": "# Mine\n\n---\n",
      "agents/team/reviewer.md": "---\nname: reviewer\ndescription: Reviews\ncolor: blue\n---\n",
      "agents/.git/e.md": "---\ndescription: 'sub-agent: E'\n---\n",
      "agents/#f.md#": "---\ndescription: 'sub-agent: F'\n---\n",
    });

    expect(problems).toEqual([]);
    expect(agents.map(({ file, name }) => [name, relative(folder, file)])).toEqual([
      ["a", "agents/a.json"],
      ["b", "agents/b.md"],
      ["team/planner", "agents/team/c.md"],
      ["team/deep/d", "agents/team/deep/d.json"],
    ]);
    expect(agents.map(({ writesFiles }) => writesFiles)).toEqual([true, true, true, true]);
    expect(agents.map(({ hasModel }) => hasModel)).toEqual([false, false, true, false]);
    expect(agents[2]).toMatchObject({ description: "C", promptFile: join(folder, "agents/team/p.md") });
  });

  it("reads the prompt file of an agent in a folder from a folder of the same name", () => {
    const { agents } = load({
      "agents/team/a.json": JSON.stringify(AGENT),
      "prompts/team/a.md": "---\nmodel: m-2\n---\n",
    });

    expect(agents).toMatchObject([{ name: "team/a", model: "m-2" }]);
  });

  it("loads the example of the documentation as it is written", () => {
    const page = readFileSync(new URL("../../../../docs/agents.md", import.meta.url), "utf8");
    const [, example = ""] = /^```markdown\n([^]*?)^```$/m.exec(page) ?? [];

    const { agents, problems } = load({ "agents/team/planner.md": example });

    expect(problems).toEqual([]);
    expect(agents).toMatchObject([
      { name: "team/planner", description: "Reviews changes for bugs.", writesFiles: true, hasModel: false },
    ]);
  });

  it("reports malformed frontmatter, and no file without the mark", () => {
    const { agents, folder, problems } = load({
      "agents/a.md": "---\ndescription: 'sub-agent: A'\npermissions: [}\n---\n",
      "agents/b.md": "---\ndescription: 'B'\n---\n",
    });

    expect(agents).toEqual([]);
    expect(problems).toEqual([
      expect.stringMatching(/^Skipped the agent file ".*\/agents\/a\.md": its frontmatter is not YAML: .* at line 3, /),
    ]);
    expect(problems[0]).toContain(folder);
  });
});

function load(files: Readonly<Record<string, string>>) {
  const folder = createTemporaryFolder();
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  const loaded = loadAgents({ agentsDir: join(folder, "agents"), promptsDir: join(folder, "prompts") });
  return { ...loaded, folder };
}
