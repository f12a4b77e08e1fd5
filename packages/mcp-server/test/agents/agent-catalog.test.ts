import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadAgents } from "@budgie/core";
import { createAgentCatalog, type AgentCatalog } from "../../src/agents/agent-catalog.ts";
import { acceptAgents } from "../../src/agents/accept-agents.ts";
import { buildTools } from "../../src/mcp/tools/build-tools.ts";
import { TOOL_OPTIONS } from "../../../cli/test/helpers/create-agent.ts";
import { toAgent } from "./reloading-budgie.ts";

const OPTIONS = { ...TOOL_OPTIONS, toolPrefix: "" };

describe("createAgentCatalog", () => {
  let agentsDir: string;
  let reports: string[];

  beforeEach(() => {
    agentsDir = mkdtempSync(join(tmpdir(), "budgie-catalog-"));
    reports = [];
    write("a", toAgent("a"));
    write("b", toAgent("b"));
  });
  afterEach(() => rmSync(agentsDir, { recursive: true }));

  function write(file: string, content: unknown): void {
    writeFileSync(join(agentsDir, `${file}.json`), typeof content === "string" ? content : JSON.stringify(content));
  }

  function createCatalog(): AgentCatalog {
    const folders = { agentsDir, promptsDir: agentsDir };
    const loaded = loadAgents(folders);
    return createAgentCatalog({
      first: { loaded, accepted: acceptAgents(loaded.agents, OPTIONS), tools: buildTools(loaded.agents, OPTIONS) },
      folders,
      accept: (agents, before) => acceptAgents(agents, OPTIONS, before),
      toTools: (agents) => buildTools(agents, OPTIONS),
      findProblems: () => [],
      settings: [["b", "a section"]],
      report: (line) => void reports.push(line),
    });
  }

  const names = (catalog: AgentCatalog): readonly string[] => catalog.tools().map(({ definition }) => definition.name);

  it("offers new agents at once, and new tools once they are settled", () => {
    const catalog = createCatalog();
    write("c", toAgent("c"));

    expect(catalog.agents().map(({ name }) => name)).toEqual(["a", "b", "c"]);
    expect(names(catalog)).toEqual(["a", "b", "health-check"]);
    expect(catalog.hasChanged()).toBe(true);
    expect(catalog.settle()).toBe(true);
    expect(names(catalog)).toEqual(["a", "b", "c", "health-check"]);
    expect(catalog.hasChanged()).toBe(false);
    expect(catalog.settle()).toBe(false);
  });

  it("reports the fault of a prompt file that two agents share once", () => {
    const catalog = createCatalog();
    writeFileSync(join(agentsDir, "a.md"), "---\ndescription: [\n---\n");
    write("twin", toAgent("a"));

    catalog.settle();

    expect(reports.filter((line) => line.includes("a.md"))).toHaveLength(1);
  });

  it("reports a fault when it is settled, and once until it is fixed", () => {
    const catalog = createCatalog();
    write("a", "{");
    catalog.agents();
    expect(reports).toEqual([]);

    catalog.settle();
    write("b", { ...toAgent("b"), model: "no business of budgie's" });
    catalog.settle();
    expect(reports).toEqual([expect.stringContaining("a.json")]);

    write("a", toAgent("a"));
    catalog.settle();
    write("a", "{");
    catalog.settle();
    expect(reports).toHaveLength(2);
  });

  it("refuses an agent that takes another's name, in any order, and accepts all others", () => {
    const catalog = createCatalog();
    write("0", toAgent("a", "An impostor"));
    write("b", toAgent("health-check"));
    write("c", toAgent("c"));

    expect(catalog.settle()).toBe(true);

    expect(catalog.agents()).toMatchObject([{ description: "About a" }, { name: "b" }, { name: "c" }]);
    expect(reports).toEqual([
      expect.stringMatching(/0\.json.* would both be the tool "a"/),
      expect.stringContaining('would take the name of budgie\'s own tool "health-check"'),
      expect.stringContaining('added "c"'),
    ]);
    rmSync(join(agentsDir, "a.json"));
    catalog.settle();
    expect(catalog.agents()).toMatchObject([{ description: "An impostor" }, { name: "b" }, { name: "c" }]);
  });

  it("lets two agents swap names", () => {
    const catalog = createCatalog();
    write("a", toAgent("b", "Was a"));
    write("b", toAgent("a", "Was b"));

    expect(catalog.agents().map(({ name }) => name)).toEqual(["b", "a"]);
    catalog.settle();
    expect(reports).toEqual([expect.stringContaining('changed "a", "b"')]);
  });

  it("does not call an agent with settings gone while it is left out for its tool's name", () => {
    write("a", toAgent("B"));
    const catalog = createCatalog();
    write("c", toAgent("c"));
    catalog.settle();

    expect(catalog.agents().map(({ name }) => name)).toEqual(["B", "c"]);
    expect(reports).toEqual(['The tools changed: added "c"; changed "b".']);
  });

  it("warns when an agent with settings is removed", () => {
    const catalog = createCatalog();
    rmSync(join(agentsDir, "b.json"));
    catalog.settle();
    mkdirSync(join(agentsDir, "c.json"));
    catalog.settle();

    expect(reports.filter((line) => line.includes("a section is for it"))).toHaveLength(1);
  });
});
