import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { Command } from "@budgie/core";
import { ALL_HIDDEN_PATHS, PROGRAM_PATHS, splitHidden, type HiddenPaths } from "@budgie/core/policy";
import type { ProtocolTurn } from "@budgie/core/protocol";
import { createProtocols, type ProtocolParts } from "../../src/agents/create-protocols.ts";
import { AGENT_PRESET_NAMES } from "../../../cli/src/agents/agent-presets.ts";
import type { Config } from "../../../cli/src/config/config.ts";
import type { Host } from "../../src/process/host.ts";
import { CLIENT_NAMES, CLIENTS } from "../../../cli/src/commands/install/clients.ts";

const ROWS: Readonly<Record<string, HiddenPaths>> = PROGRAM_PATHS;
const root = new URL("../../../../", import.meta.url);

describe("the list of the paths that programs read as configuration", () => {
  it.each(AGENT_PRESET_NAMES)("has a row for the preset %s", (preset) => {
    expect(Object.keys(ROWS)).toContain(preset.replace(/-acp$/, ""));
  });

  it.each(CLIENT_NAMES)("has a row for the client %s, which holds its project's file", (client) => {
    expect(isHidden(CLIENTS[client].projectFile, ROWS[client])).toBe(true);
  });

  // A path that is left out of the list is neither hidden nor reported nor protected, and nothing else notices that.
  it.each([
    ["kiro", [".kiro/agents", ".kiro/settings", ".kiro/hooks", ".kiro/workflows"]],
    ["opencode", ["opencode.json", "opencode.jsonc", ".opencode/plugin"]],
    ["qwen", [".qwen/settings.json"]],
    [
      "copilot",
      [".mcp.json", ...["mcp.json", "hooks", "copilot", "agents", "lsp.json"].map((name) => `.github/${name}`)],
    ],
    ["kilo", ["kilo.json", "kilo.jsonc", ".kilo/x", ".kilocode/x"]],
    ["cline", [".cline/x", ".clinerules/hooks"]],
    ["fast-agent", ["fast-agent.yaml", "fastagent.config.yaml", "fastagent.secrets.yaml", ".fast-agent/x"]],
  ])("has what %s runs or reads as configuration", (program, paths) => {
    expect(paths.filter((path) => !isHidden(path, ROWS[program]))).toEqual([]);
  });

  it("lacks a file that no client has", () => {
    expect(isHidden(".kiro/steering/a.md", ROWS["kiro"])).toBe(false);
    expect(isHidden(".vscode/settings.json", ROWS["vscode"])).toBe(false);
  });

  it("loses no path of a program when it is taken as a whole", () => {
    for (const row of Object.values(ROWS)) expect(ALL_HIDDEN_PATHS).toMatchObject(row);
  });

  it("is documented", () => {
    const page = readFileSync(new URL("docs/executable-paths.md", root), "utf8");
    const names = Object.keys(splitHidden({ hidden: ALL_HIDDEN_PATHS }).ofWorkspace);

    expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  });
});

it("a program without a preset gets all of them hidden", async () => {
  const commands: Command[] = [];
  const session = {
    start: (command: Command) => Promise.reject(commands.push(command) === 1 ? new Error("started") : command),
  };
  const agent = { name: "coder", file: "budgie.json", program: { argv: ["coder"], permission: "allow" } };
  const config = { sandbox: true, credentials: "none" } as Partial<Config> as Config;
  const { acp } = createProtocols(config, { env: {}, home: "/home/me" } as Partial<Host> as Host, {} as ProtocolParts);

  const turn = { agent, session, directory: "/project", timeoutMs: 60_000 } as unknown as ProtocolTurn;
  await expect(acp(turn)).rejects.toThrow("started");

  expect(commands.map(({ hidden }) => hidden)).toEqual([ALL_HIDDEN_PATHS]);
});

/** Returns true if a path is covered, by itself or with its folder. */
function isHidden(path: string, hidden: HiddenPaths | undefined): boolean {
  const [name = "", entry = ""] = path.split("/");
  const cover = splitHidden({ hidden }).ofWorkspace[name];
  return typeof cover === "object" && "entries" in cover ? Object.hasOwn(cover.entries, entry) : cover !== undefined;
}
