import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadAgents } from "@budgie/core";
import type { AgentFolders } from "@budgie/core/agents";
import { createTemporaryFolder } from "../helpers/temporary-folder.ts";

describe("loadAgents, called again", () => {
  it("returns the same lists if nothing changed", () => {
    const { folders } = createFolders();
    const first = loadAgents(folders);
    const second = loadAgents(folders, first);

    expect(first.agents).toHaveLength(2);
    expect(second.agents).toBe(first.agents);
    expect(second.problems).toBe(first.problems);
  });

  it("rebuilds only those agents whose files changed", () => {
    const { folders, write } = createFolders();
    const first = loadAgents(folders);
    write("a.json", toAgent("a", "Another"));
    const second = loadAgents(folders, first);

    expect(second.agents.map(({ description }) => description)).toEqual(["Another", "About b"]);
    expect(second.agents[1]).toBe(first.agents[1]);
  });

  it("marks an agent whose file is broken, and keeps the rest of it", () => {
    const { folders, write } = createFolders();
    const first = loadAgents(folders);
    write("a.json", "{");
    const broken = loadAgents(folders, first);
    write("a.json", toAgent("a"));
    const mended = loadAgents(folders, broken);

    expect(broken.agents[0]).toEqual({
      ...first.agents[0],
      broken: "line 1, column 2: close brace expected" as string,
    });
    expect(broken.problems).toEqual([
      expect.stringMatching(/a\.json" cannot be used now: .* stays in use as it was\.$/),
    ]);
    expect(mended).toMatchObject({ agents: first.agents, problems: [] });
  });

  it("drops an agent whose file was removed, or now names another agent", () => {
    const { folders, write } = createFolders();
    const first = loadAgents(folders);
    rmSync(join(folders.agentsDir, "a.json"));
    write("b.json", { ...toAgent("b"), description: "My own helper" });

    expect(loadAgents(folders, first)).toMatchObject({ agents: [], problems: [] });
  });

  it("keeps all agents while their folder is missing, and their profiles while the prompts folder is", () => {
    const { folders } = createFolders();
    const first = loadAgents(folders);
    renameSync(folders.agentsDir, `${folders.agentsDir}.old`);
    renameSync(folders.promptsDir, `${folders.promptsDir}.old`);
    const gone = loadAgents(folders, first);
    renameSync(`${folders.agentsDir}.old`, folders.agentsDir);
    const promptless = loadAgents(folders, gone);
    mkdirSync(folders.promptsDir);

    expect(first.agents).toMatchObject([{ model: "m1" }, { model: undefined }]);
    expect(gone.agents).toBe(first.agents);
    expect(gone.problems).toMatchObject([
      expect.stringMatching(/^There is no agents directory .* Its agents stay as they were\.$/),
      expect.stringMatching(/^The prompts directory .* is gone\./),
    ]);
    expect(promptless.agents).toBe(first.agents);
    expect(promptless.problems).toHaveLength(1);
    expect(loadAgents(folders, promptless).agents).toMatchObject([{ model: undefined }, { model: undefined }]);
  });

  it("keeps nothing of an agent whose file now has another name in it", () => {
    const { folders, write } = createFolders();
    const first = loadAgents(folders);
    write("a.json", toAgent("c"));
    writeFileSync(join(folders.promptsDir, "c.md"), "---\nmodel: [\n---\n");

    expect(loadAgents(folders, first).agents).toMatchObject([{ name: "c", model: undefined }, { name: "b" }]);
  });

  it("ignores the lock files of editors", () => {
    const { folders, write } = createFolders();
    write(".#a.json", "{");
    write("._a.json", "{");

    expect(loadAgents(folders).problems).toEqual([]);
  });
});

type Folders = { readonly folders: AgentFolders; readonly write: (file: string, content: unknown) => void };

function createFolders(): Folders {
  const folder = createTemporaryFolder();
  const folders = { agentsDir: join(folder, "agents"), promptsDir: join(folder, "prompts") };
  mkdirSync(folders.agentsDir);
  mkdirSync(folders.promptsDir);
  const write: Folders["write"] = (file, content) => {
    const text = typeof content === "string" ? content : JSON.stringify(content);
    writeFileSync(join(folders.agentsDir, file), text);
  };
  write("a.json", toAgent("a"));
  write("b.json", toAgent("b"));
  writeFileSync(join(folders.promptsDir, "a.md"), "---\nmodel: m1\n---\n");
  return { folders, write };
}

function toAgent(name: string, description = `About ${name}`) {
  return { name, description: `sub-agent: ${description}`, allowedTools: ["fs_read", "fs_write"] };
}
