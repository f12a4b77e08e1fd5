import { describe, expect, it } from "vitest";
import { CLIENTS, type ClientName } from "../../../src/commands/install/clients.ts";

const home = "/home/me";

describe("CLIENTS", () => {
  it.each<[ClientName, string, string]>([
    ["kiro", "/home/me/.kiro/settings/mcp.json", ".kiro/settings/mcp.json"],
    ["claude", "/home/me/.claude.json", ".mcp.json"],
    ["cursor", "/home/me/.cursor/mcp.json", ".cursor/mcp.json"],
    ["vscode", "/home/me/.config/Code/User/mcp.json", ".vscode/mcp.json"],
    ["codex", "/home/me/.codex/config.toml", ".codex/config.toml"],
    ["gemini", "/home/me/.gemini/settings.json", ".gemini/settings.json"],
    ["qwen", "/home/me/.qwen/settings.json", ".qwen/settings.json"],
    ["opencode", "/home/me/.config/opencode/opencode.json", "opencode.json"],
    ["copilot", "/home/me/.copilot/mcp-config.json", ".mcp.json"],
  ])("knows the files of %s", (name, userFile, projectFile) => {
    const client = CLIENTS[name];

    expect(client.toUserFile({ env: {}, home, platform: "linux" })).toBe(userFile);
    expect(client.projectFile).toBe(projectFile);
  });

  it.each<[ClientName, Readonly<Record<string, string>>, string]>([
    ["kiro", { KIRO_HOME: "/k" }, "/k/settings/mcp.json"],
    ["claude", { CLAUDE_CONFIG_DIR: "/c" }, "/c/.claude.json"],
    ["vscode", { XDG_CONFIG_HOME: "/x" }, "/x/Code/User/mcp.json"],
    ["vscode", { VSCODE_APPDATA: "/a", XDG_CONFIG_HOME: "/x" }, "/a/Code/User/mcp.json"],
    ["vscode", { VSCODE_PORTABLE: "/p", VSCODE_APPDATA: "/a" }, "/p/user-data/User/mcp.json"],
    ["codex", { CODEX_HOME: "/o" }, "/o/config.toml"],
    ["gemini", { GEMINI_CLI_HOME: "/g" }, "/g/.gemini/settings.json"],
    ["qwen", { QWEN_HOME: "/q" }, "/q/settings.json"],
    ["opencode", { XDG_CONFIG_HOME: "/x" }, "/x/opencode/opencode.json"],
    ["copilot", { COPILOT_HOME: "/p" }, "/p/mcp-config.json"],
    ["codex", { CODEX_HOME: "relative" }, "/home/me/.codex/config.toml"],
  ])("follows the variable %s to the folder %j", (name, env, file) => {
    expect(CLIENTS[name].toUserFile({ env, home, platform: "linux" })).toBe(file);
  });

  it("knows the file of VS Code on a Mac", () => {
    const file = CLIENTS.vscode.toUserFile({ env: { XDG_CONFIG_HOME: "/x" }, home: "/Users/me", platform: "darwin" });

    expect(file).toBe("/Users/me/Library/Application Support/Code/User/mcp.json");
  });
});
