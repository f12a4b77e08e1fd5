import { describe, expect, it } from "vitest";
import { CLIENT_NAMES, CLIENTS } from "../../../src/commands/install/clients.ts";
import { isBudgie } from "../../../src/commands/install/with-server.ts";
import { SECRET, toFile, toServer } from "./client-settings.ts";
import { createInstallUser } from "./create-install-user.ts";

describe("an existing server", () => {
  it("keeps the user's formatting", async () => {
    using user = createInstallUser();
    const file = toFile(user, "gemini", "user");
    await user.run(["install", "gemini"]);
    user.write(file, JSON.stringify(JSON.parse(user.read(file))));
    const before = user.files();

    const { stdout } = await user.run(["install", "gemini"]);

    expect(stdout).toContain("Nothing to change");
    expect(user.files()).toEqual(before);
  });

  it("is updated if it is a budgie, and keeps the user's additions", async () => {
    using user = createInstallUser();
    const file = toFile(user, "kiro", "user");
    const mine = { command: "/old/budgie.js", args: [], autoApprove: ["a"], env: { BUDGIE_MODEL: SECRET } };
    user.write(file, JSON.stringify({ mcpServers: { "kiro-subagents": mine } }, undefined, 2));
    const codex = toFile(user, "codex", "user");
    user.write(
      codex,
      '[mcp_servers.kiro-subagents]\ncommand = "budgie"\nenabled = true # mine\n[mcp_servers.kiro-subagents.env]\nA = "b"\n',
    );

    const { stdout } = await user.run(["install", "kiro"]);
    await user.run(["install", "codex"]);

    expect(toServer(user, "kiro")).toMatchObject({ autoApprove: ["a"], env: mine.env, timeout: 3_600_000 });
    expect(toServer(user, "kiro")?.["args"]).toContain("--sandbox");
    expect(toServer(user, "codex")).toMatchObject({
      enabled: true,
      env: { A: "b" },
      tool_timeout_sec: 3600,
      required: true,
    });
    expect(user.read(codex)).toContain("enabled = true # mine\n");
    expect(stdout).not.toContain(SECRET);
  });

  it.each(CLIENT_NAMES)("is replaced for %s only on request, and restored, if it is another", async (client) => {
    using user = createInstallUser();
    const file = toFile(user, client, "user");
    const { joinsArguments, servers } = CLIENTS[client];
    const other = joinsArguments === true ? { command: ["x", SECRET] } : { command: "x", args: [SECRET] };
    const toml = `[${servers}.kiro-subagents]\ncommand = "x"\nargs = ["${SECRET}"]\n`;
    user.write(file, client === "codex" ? toml : JSON.stringify({ [servers]: { "kiro-subagents": other } }));
    const before = user.files();

    await expect(user.run(["install", client])).rejects.toMatchObject({ code: "CONFIG_INVALID" });
    await expect(user.run(["uninstall", client])).rejects.toMatchObject({ code: "CONFIG_INVALID" });
    const untouched = user.files();
    const { stdout } = await user.run(["install", client, "--force"]);
    const replaced = toServer(user, client);
    await user.run(["uninstall", client]);

    expect(untouched).toEqual(before);
    expect([replaced?.["command"], replaced?.["args"]].flat()).toContain("--sandbox");
    expect(stdout).not.toContain(SECRET);
    expect(user.files()).toEqual(before);
  });

  it.each([
    ["npx", ["-y", "budgie-mcp@1"], true],
    ["cmd", ["/c", "npx", "-y", "budgie-mcp"], true],
    ["node", ["--no-warnings", "/usr/local/bin/budgie", "--sandbox"], true],
    ["/opt/budgie/budgie", [], true],
    ["npx", ["-y", "@modelcontextprotocol/server-filesystem", "/home/me/src/budgie"], false],
    ["npx", ["-y", "not-budgie"], false],
  ])("is recognised as budgie by its program, not by a directory: %s %j", (command, args, expected) => {
    expect(isBudgie({ command, args })).toBe(expected);
  });
});
