import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createInstallUser } from "./create-install-user.ts";

describe("budgie uninstall", () => {
  it("says so if there is nothing to remove", async () => {
    using user = createInstallUser();
    const file = join(user.home, ".claude.json");

    const { exitCode, stdout } = await user.run(["uninstall", "claude"]);

    expect({ exitCode, stdout }).toEqual({
      exitCode: 0,
      stdout: `Nothing to remove: "${file}" has no "kiro-subagents".\n`,
    });
    expect(user.files()).toEqual({});
  });

  it.each([
    [".claude.json", "claude", '{\n  "numStartups": 1\n}\n', '"numStartups": 1', '"numStartups": 2'],
    [".codex/config.toml", "codex", 'model = "a"\n', '"a"', '"b"'],
  ])("keeps everything that was written to %s since install", async (...[name, client, content, old, fresh]) => {
    using user = createInstallUser();
    const file = join(user.home, name);
    user.write(file, content);
    await user.run(["install", client]);
    user.write(file, user.read(file).replace(old, fresh));

    const { stdout } = await user.run(["uninstall", client]);

    expect(user.read(file)).toContain(fresh);
    expect(user.read(file)).not.toContain("kiro-subagents");
    expect(stdout).toContain(`Wrote "${file}", and kept what was there as "${file}.budgie-backup-`);
    expect(Object.keys(user.files())).toHaveLength(3);
  });

  it("removes a budgie that the user wrote, whatever runs it", async () => {
    using user = createInstallUser();
    const file = join(user.home, ".cursor", "mcp.json");
    const servers = ["budgie", "/a/b/budgie.js", "C:\\npm\\budgie.cmd"].map((command) => ({ command }));
    const npx = { command: "npx", args: ["-y", "budgie-mcp@1"] };
    const all = [...servers, npx, { command: "node", args: ["/a/budgie.js", "--sandbox"] }];
    user.write(
      file,
      JSON.stringify({ mcpServers: Object.fromEntries(all.map((server, index) => [`b${index}`, server])) }),
    );

    for (const index of all.keys()) await user.run(["uninstall", "cursor", "--name", `b${index}`]);

    expect(JSON.parse(user.read(file))).toEqual({ mcpServers: {} });
  });

  it("does not restore an old budgie as the earlier server", async () => {
    using user = createInstallUser();
    const file = join(user.home, ".claude.json");
    user.write(file, '{ "a": 1 }\n');
    await user.run(["install", "claude"]);
    await user.run(["install", "claude", "--", "--agent-timeout", "15m"]);

    await user.run(["uninstall", "claude"]);

    expect(user.read(file)).toBe('{ "a": 1 }\n');
  });
});
