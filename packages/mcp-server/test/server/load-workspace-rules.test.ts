import { mkdtempSync, rmSync, symlinkSync, writeFileSync, mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { checkWorkspace } from "../../../core/src/policy/check-workspace.ts";
import { createFakeRunner } from "@budgie/testkit";
import { parseConfig } from "../../../cli/src/config/config.ts";
import { loadWorkspaceRules } from "../../src/server/load-workspace-rules.ts";
import { toSilentHost } from "../../../cli/test/helpers/to-silent-host.ts";

it("No directory that holds a file of settings is given to a sandbox, wherever a link leads", async () => {
  const home = mkdtempSync(join(tmpdir(), "budgie-settings-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const host = toSilentHost({ home, cwd: home });
  const dotfiles = join(home, "dotfiles");
  const put = (name: string, content = ""): string => {
    mkdirSync(join(dotfiles, name));
    writeFileSync(join(dotfiles, name, "file"), content);
    return join(dotfiles, name, "file");
  };
  for (const folder of [".kiro/agents", ".kiro/settings", "dotfiles", "app"])
    mkdirSync(join(home, folder), { recursive: true });
  const agents = {
    codex: { protocol: "acp", command: "codex-acp", description: "Codes.", home: { ".codex/auth.json": put("login") } },
  };
  put(
    "config",
    JSON.stringify({
      mcpRegistry: put("registry"),
      systemPrompt: put("prompt"),
      caFile: put("ca"),
      httpTokenFile: put("token"),
      notify: ["sh", put("bell")],
      agents,
    }),
  );
  symlinkSync(join(dotfiles, "config/file"), join(home, "budgie.json"));
  symlinkSync(put("mcp"), join(home, ".kiro/settings/mcp.json"));
  symlinkSync(put("agent"), join(home, ".kiro/agents/x.json"));
  const config = parseConfig({ sandbox: true, config: "budgie.json" }, host);

  const rules = loadWorkspaceRules(config, host, { ...createFakeRunner(() => ({})), isolation: "container" });

  for (const name of ["login", "registry", "prompt", "ca", "token", "bell", "config", "mcp", "agent"]) {
    await expect(checkWorkspace(join(dotfiles, name), rules), name).rejects.toMatchObject({
      code: "WORKSPACE_INVALID",
      message: expect.stringContaining("Pass another directory, or keep that where no agent works."),
    });
  }
  expect(await checkWorkspace(join(home, "app"), rules)).toBe(join(home, "app"));
});
