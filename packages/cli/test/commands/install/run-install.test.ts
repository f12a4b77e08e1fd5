import { chmodSync, realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { CLIENT_NAMES, CLIENTS, SCOPES } from "../../../src/commands/install/clients.ts";
import { SECRET, toFile, toServer, writeTheirs } from "./client-settings.ts";
import { createInstallUser } from "./create-install-user.ts";
import { budgiePath } from "../../helpers/start-budgie.ts";

const BOTH = CLIENT_NAMES.flatMap((client) => SCOPES.map((scope) => [client, scope] as const));

describe("budgie install", () => {
  it.each(BOTH)("writes the file that %s reads in scope %s", async (client, scope) => {
    using user = createInstallUser();

    const { exitCode, stdout } = await user.run(["install", client, "--scope", scope]);

    const { args = [], command: words, ...rest } = toServer(user, client, scope) ?? {};
    const [command, ...given] = [words, args].flat();
    const { keys, type, wantsSafeNames } = CLIENTS[client];
    const options = ["--sandbox", ...(wantsSafeNames ? ["--tool-names", "safe"] : [])];
    expect(exitCode).toBe(0);
    expect(stdout).toContain(`\nWrote "${toFile(user, client, scope)}".\n`);
    expect(rest).toEqual({ ...keys, ...(type && { type }) });
    expect(given).toEqual(scope === "user" ? [budgiePath, ...options] : options);
    if (scope === "project") expect(command).toBe("budgie");
    else expect(realpathSync(String(command))).toBe(realpathSync(process.execPath));
  });

  it("leaves out --sandbox if the options name a runner", async () => {
    using user = createInstallUser();
    const options = ["--runner", "docker"];

    await user.run(["install", "claude", "--", ...options]);

    expect(toServer(user, "claude")?.["args"]).toEqual([budgiePath, ...options]);
  });

  it("has Codex refuse to go on without the server, and shows that", async () => {
    using user = createInstallUser();

    const { stdout } = await user.run(["install", "codex"]);

    expect(toServer(user, "codex")).toMatchObject({ required: true, startup_timeout_sec: 60 });
    expect(stdout).toMatch(/^\+required = true$/m);
  });

  it.each(BOTH)("is undone by uninstall if %s had no file in scope %s", async (client, scope) => {
    using user = createInstallUser();
    await user.run(["install", client, "--scope", scope]);

    const { exitCode, stdout } = await user.run(["uninstall", client, "--scope", scope]);

    expect(exitCode).toBe(0);
    expect(stdout).toContain(`\nRemoved "${toFile(user, client, scope)}", which had nothing else.\n`);
    expect(user.files()).toEqual({});
  });

  it.each(BOTH)("is undone to the byte if %s had settings in scope %s", async (client, scope) => {
    using user = createInstallUser();
    const file = writeTheirs(user, client, scope);
    const before = user.files();

    const installed = await user.run(["install", client, "--scope", scope]);
    const between = user.files();
    const uninstalled = await user.run(["uninstall", client, "--scope", scope]);

    expect(user.files()).toEqual(before);
    expect(Object.keys(between)).toHaveLength(2);
    expect(Object.values(between)).toContain(Object.values(before)[0]);
    expect(Object.values(between).every((content) => content.startsWith("640 ") && content.includes("mine"))).toBe(
      true,
    );
    expect(installed.stdout).toContain(`, and kept what was there as "${file}.budgie-backup-`);
    expect(uninstalled.stdout).toContain(`Wrote "${file}" as it was before install, and removed the copy of that.\n`);
  });

  it.each(CLIENT_NAMES)("changes nothing of %s the second time, and makes no second backup", async (client) => {
    using user = createInstallUser();
    writeTheirs(user, client);
    await user.run(["install", client]);
    const before = user.files();

    const { exitCode, stdout } = await user.run(["install", client]);

    expect({ exitCode, stdout }).toEqual({
      exitCode: 0,
      stdout: expect.stringContaining(
        `Nothing to change: "${toFile(user, client, "user")}" starts this budgie already.\n`,
      ),
    });
    expect(user.files()).toEqual(before);
  });

  it.each(CLIENT_NAMES)("writes nothing for %s in a dry run", async (client) => {
    using user = createInstallUser();
    writeTheirs(user, client);
    const without = user.files();

    const install = await user.run(["install", client, "--dry-run"]);
    const afterDry = user.files();
    await user.run(["install", client]);
    const within = user.files();
    const uninstall = await user.run(["uninstall", client, "--dry-run"]);

    expect(afterDry).toEqual(without);
    expect(user.files()).toEqual(within);
    for (const { stdout } of [install, uninstall]) expect(stdout).toMatch(/\nNothing was written \(--dry-run\)\.\n$/);
    expect(install.stdout).toMatch(/^\+.*"?--sandbox"/m);
    expect(uninstall.stdout).toMatch(/^-.*"?--sandbox"/m);
  });

  it.each(CLIENT_NAMES)("shows none of a user's secrets when it installs for %s", async (client) => {
    using user = createInstallUser();
    writeTheirs(user, client);

    const install = await user.run(["install", client]);
    const uninstall = await user.run(["uninstall", client]);

    const shown = install.stdout + uninstall.stdout;
    expect(user.read(toFile(user, client, "user"))).toContain(SECRET);
    expect(shown).toContain("kiro-subagents");
    expect(shown).not.toContain(SECRET);
  });

  it("shows no secret of a single-line file", async () => {
    using user = createInstallUser();
    const file = toFile(user, "claude", "user");
    user.write(file, `{"apiKey":"${SECRET}","mcpServers":{"o":{"args":["${SECRET}"]}}}`);

    const { stdout } = await user.run(["install", "claude"]);

    expect(user.read(file)).toContain(SECRET);
    expect(stdout).toContain('-{"apiKey":…');
    expect(stdout).not.toContain(SECRET);
  });

  it("names a file that is new, or goes, once in the diff", async () => {
    using user = createInstallUser();
    const file = toFile(user, "kiro", "user");

    const { stdout: installed } = await user.run(["install", "kiro"]);
    const { stdout: uninstalled } = await user.run(["uninstall", "kiro"]);

    expect(installed).toMatch(`--- /dev/null\n+++ ${file}\n`);
    expect(uninstalled).toMatch(`--- ${file}\n+++ /dev/null\n`);
  });

  it("says which folders Gemini CLI starts servers in", async () => {
    using user = createInstallUser();

    expect((await user.run(["install", "gemini"])).stdout).toContain(
      "\nGemini CLI starts no server in a folder that it does not trust: ",
    );
  });

  it("ends with the engine that is missing, and the command for it, unless agents need none", async () => {
    using user = createInstallUser();

    const { stdout } = await user.run(["install", "claude"]);
    const { stdout: again } = await user.run(["install", "claude"]);
    const { stdout: bare } = await user.run(["install", "gemini", "--", "--no-sandbox"]);

    expect(stdout).toMatch(
      /\nMissing: Cannot reach a container engine at unix:\/\/\/no\/engine .* Start Docker or Podman, .*\n$/,
    );
    expect(again).toContain(`starts this budgie already.\nMissing: `);
    expect(bare).not.toContain("Missing: ");
  });

  it("passes the server the options after --, in a sandbox unless they say otherwise", async () => {
    using user = createInstallUser();

    await user.run(["install", "claude", "--", "-agent-timeout", "15m", "--allow-root", "${workspaceFolder}"]);
    await user.run(["install", "gemini", "--", "--no-sandbox"]);
    await user.run(["install", "codex", "--", "--workspace", "ro"]);
    await user.run(["install", "kiro", "--", "--tool-names", "dotted", "-sandbox=true"]);

    const words = "--sandbox -agent-timeout 15m --allow-root ${workspaceFolder}".split(" ");
    expect(toServer(user, "claude")?.["args"]).toEqual([budgiePath, ...words]);
    expect(toServer(user, "gemini")?.["args"]).toEqual([budgiePath, "--no-sandbox"]);
    expect(toServer(user, "codex")?.["args"]).toEqual([budgiePath, "--sandbox", "--workspace", "ro"]);
    expect(toServer(user, "kiro")?.["args"]).toEqual([budgiePath, "--tool-names", "dotted", "-sandbox=true"]);
  });

  it("uses another name on request", async () => {
    using user = createInstallUser();

    await user.run(["install", "kiro", "--name", "mine"]);
    const { stdout } = await user.run(["uninstall", "kiro"]);

    expect(JSON.parse(user.read(toFile(user, "kiro", "user")))).toHaveProperty(["mcpServers", "mine"]);
    expect(stdout).toBe(`Nothing to remove: "${toFile(user, "kiro", "user")}" has no "kiro-subagents".\n`);
  });

  it("keeps a byte order mark, and the file's line ends", async () => {
    using user = createInstallUser();
    const file = toFile(user, "vscode", "user");
    user.write(file, '\uFEFF{\r\n  "inputs": []\r\n}\r\n');

    await user.run(["install", "vscode"]);

    expect(user.read(file)).toMatch(/^\uFEFF\{\r\n {2}"servers": \{\r\n/);
    expect(user.read(file).replaceAll("\r\n", "")).not.toContain("\n");
  });

  it("makes a new file of user settings private, and that of a project readable by all", async () => {
    using user = createInstallUser();

    await user.run(["install", "claude"]);
    await user.run(["install", "claude", "--scope", "project"]);

    expect(statSync(toFile(user, "claude", "user")).mode & 0o777).toBe(0o600);
    expect(statSync(toFile(user, "claude", "project")).mode & 0o777).toBe(0o644);
  });

  it("writes no path of this machine into a shared project file, and says what its users need", async () => {
    using user = createInstallUser();
    const bin = join(user.home, "bin");
    user.write(join(bin, "budgie"), "");
    chmodSync(join(bin, "budgie"), 0o755);
    const argv = ["install", "claude", "--scope", "project", "--", "--allow-root", user.home];

    const without = await user.run([...argv, "--verbose"]);
    const within = await user.run(argv, { PATH: `/nowhere:${bin}` });

    expect(JSON.stringify(toServer(user, "claude", "project"))).not.toContain(budgiePath);
    expect(without.stdout).toContain(
      "This file goes to everybody who has the project: budgie must be on their PATH.\n",
    );
    expect(without.stdout).toContain('On yours it is not yet; "npm install -g budgie-mcp" puts it there.\n');
    expect(without.stdout).toContain(`They will not have "${user.home}".\n`);
    expect(within.stdout).not.toContain("not yet");
  });
});
