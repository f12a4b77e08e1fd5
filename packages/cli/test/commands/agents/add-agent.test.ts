import { chmodSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { AGENT_PRESET_NAMES, AGENT_PRESETS, type AgentPreset } from "../../../src/agents/agent-presets.ts";
import { createInstallUser, type InstallUser } from "../install/create-install-user.ts";

const toFile = (user: InstallUser): string => join(user.project, "budgie.json");

const read = (user: InstallUser): Record<string, unknown> => JSON.parse(user.read(toFile(user))) as never;

const add = (user: InstallUser, ...words: readonly string[]) =>
  user.run(["agents", "add", ...words, "--config", "budgie.json", "--agents-dir", user.home]);

describe("budgie agents add", () => {
  it.each(AGENT_PRESET_NAMES)("writes %s into a new file, with which a sandboxed server starts", async (name) => {
    using user = createInstallUser();
    const { allowPreset, command, sandboxArgs }: AgentPreset = AGENT_PRESETS[name];

    const added = await add(user, name);
    const tools = await user.run(["list-tools", "--config", toFile(user), "--agents-dir", user.home]);

    const { agents, ...shared } = read(user);
    expect(added.exitCode).toBe(0);
    expect(added.stdout).toContain(`\nWrote "${toFile(user)}".\n`);
    expect(shared).toEqual({ sandbox: true, ...(name === "kiro-acp" ? {} : { allowPreset: [allowPreset] }) });
    expect(agents).toMatchObject({ [name]: { protocol: "acp", command, ...(sandboxArgs && { sandboxArgs }) } });
    expect(tools).toMatchObject({ exitCode: 0, stdout: expect.stringContaining(`kiro-subagents.${name}\n`) });
  });

  it("keeps every other byte of a file, and what was there as a copy", async () => {
    using user = createInstallUser();
    const before = `{\n\t"sandbox": true,\n\t"agents": {\n\t\t"mine": { "protocol": "acp", "description": "Secret.", "command": "x" }\n\t}\n}\n`;
    user.write(toFile(user), before, 0o640);

    const { stdout } = await add(user, "gemini", "--name", "reviewer");

    const files = user.files();
    expect(Object.values(files)).toContain(`640 ${before}`);
    expect(files["project/budgie.json"]).toBe(
      `640 ${before
        .replace("{\n", `{\n\t"allowPreset": [\n\t\t"gemini"\n\t],\n`)
        .replace(
          `"agents": {\n`,
          `"agents": {\n\t\t"reviewer": {\n\t\t\t"protocol": "acp",\n\t\t\t"description": "Writes and reviews code with Gemini CLI.",\n` +
            `\t\t\t"command": "gemini",\n\t\t\t"args": [\n\t\t\t\t"--acp"\n\t\t\t],\n\t\t\t"env": [\n\t\t\t\t"GEMINI_API_KEY"\n\t\t\t],\n` +
            `\t\t\t"allowPreset": [\n\t\t\t\t"gemini"\n\t\t\t]\n\t\t},\n`,
        )}`,
    );
    expect(stdout).toContain('+  "allowPreset": [\n');
    expect(stdout).not.toContain("Secret.");
  });

  it("adds only hosts that are not allowed yet, and none without a sandbox", async () => {
    using user = createInstallUser();
    user.write(toFile(user), '{ "sandbox": true, "egress": "open" }');
    await add(user, "codex");
    const open = read(user);
    user.write(toFile(user), '{ "sandbox": false }');
    await add(user, "codex");
    const local = read(user);
    user.write(toFile(user), '{ "sandbox": true, "egress": "none" }');
    await add(user, "codex");

    expect(open).toMatchObject({ agents: { codex: { allowPreset: ["codex"] } } });
    expect(open).not.toHaveProperty("allowPreset");
    expect(local).toMatchObject({ sandbox: false, agents: { codex: { command: "codex-acp" } } });
    expect(JSON.stringify([local, read(user)])).not.toContain("allowPreset");
  });

  it("shows of the rest of a file only its sandbox and presets", async () => {
    using user = createInstallUser();
    const kagent = '"kagent": { "url": "http://127.0.0.1:1", "headers": { "x-key": "canary" }, "allowRemote": true }';
    user.write(toFile(user), `{\n  ${kagent},\n  "sandbox": true,\n  "allowPreset": ["github"]\n}\n`);

    const { stdout } = await add(user, "codex");

    expect(stdout).toMatch(/^\+ *"github",$/m);
    expect(stdout).toContain('"x-key": …');
    expect(stdout).not.toContain("canary");
  });

  it("shows no header of an agent that it replaces", async () => {
    using user = createInstallUser();
    const far = { protocol: "a2a", description: "Far.", url: "http://127.0.0.1:1", headers: { "x-key": "canary" } };
    user.write(toFile(user), JSON.stringify({ agents: { codex: far } }, undefined, 2));

    const { stdout } = await add(user, "codex", "--force");

    expect(stdout).toContain('"description": "Far."');
    expect(stdout).not.toContain("canary");
  });

  it("says that it allows hosts for all agents, or that nothing confines the agent, only when that is so", async () => {
    using user = createInstallUser();
    const reach = 'Agents that no section limits to other hosts may now reach those of the preset "codex" too.\n';
    const free = 'This file chooses no sandbox, so nothing confines the agent. Add "sandbox": true to it.\n';

    const first = await add(user, "codex");
    const second = await add(user, "codex", "--name", "other");
    user.write(toFile(user), "{}");
    const third = await add(user, "codex");

    const said = [first, second, third].map(({ stdout }) => [stdout.includes(reach), stdout.includes(free)]);
    expect(said).toEqual([
      [true, false],
      [false, false],
      [false, true],
    ]);
  });

  it("changes nothing the second time", async () => {
    using user = createInstallUser();
    await add(user, "codex");
    const before = user.files();

    const { exitCode, stdout } = await add(user, "codex");

    expect({ exitCode, stdout }).toEqual({
      exitCode: 0,
      stdout: `Nothing to change: "${toFile(user)}" has this agent already.\n`,
    });
    expect(user.files()).toEqual(before);
  });

  it("replaces another agent of the name only with --force", async () => {
    using user = createInstallUser();
    user.write(
      toFile(user),
      '{ "agents": { "codex": { "protocol": "acp", "description": "Mine.", "command": "mine" } } }',
    );
    const before = user.files();

    await expect(add(user, "codex")).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining('has another agent "codex" already. Nothing was changed;'),
    });
    expect(user.files()).toEqual(before);
    await expect(add(user, "codex", "--force")).resolves.toMatchObject({ exitCode: 0 });
    expect(read(user)).toMatchObject({ agents: { codex: { command: "codex-acp" } } });
  });

  it("refuses the name of an agent of Kiro's", async () => {
    using user = createInstallUser();
    const mine = join(user.home, "one.json");
    user.write(mine, '{ "name": "codex", "description": "sub-agent: Mine.", "allowedTools": ["*"] }');

    await expect(add(user, "codex")).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: `The agent "codex" exists already, in "${mine}". Nothing was changed; choose another name with --name.`,
    });
  });

  it("writes nothing in a dry run", async () => {
    using user = createInstallUser();

    const { exitCode, stdout } = await add(user, "codex", "--dry-run");

    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/\+ {6}"command": "codex-acp"[^]*\nNothing was written \(--dry-run\)\.\n$/);
    expect(user.files()).toEqual({});
  });

  it("gives a sandbox the login files that there are, unless its variable is set", async () => {
    using user = createInstallUser();
    user.write(join(user.home, ".codex", "auth.json"), "canary");
    const words = ["agents", "add", "codex", "--config", "budgie.json", "--agents-dir", user.home];

    const { stdout } = await user.run(words);
    const byFile = read(user);
    await user.run([...words, "--force"], { OPENAI_API_KEY: "x" });
    const byKey = read(user);
    user.write(toFile(user), '{ "sandbox": false }');
    await user.run(words);

    const home = { ".codex/auth.json": "~/.codex/auth.json" };
    expect(byFile).toMatchObject({ agents: { codex: { home } } });
    expect(JSON.stringify(byFile)).not.toContain('"env"');
    expect(byKey).toMatchObject({ agents: { codex: { env: ["OPENAI_API_KEY"] } } });
    expect(JSON.stringify([byKey, read(user)])).not.toContain('"home"');
    expect(stdout).not.toContain("canary");
  });

  it("names the variables that are not set", async () => {
    using user = createInstallUser();

    const { stdout } = await user.run(["agents", "add", "qwen", "--config", "budgie.json", "--agents-dir", user.home], {
      OPENAI_API_KEY: "canary",
    });

    expect(stdout).toContain("\nSet OPENAI_BASE_URL and OPENAI_MODEL where budgie starts; here it is not.\n");
    expect(stdout + user.read(toFile(user))).not.toContain("canary");
  });

  it.each([
    ["a file that is broken", "{ nonsense", "Cannot read the configuration file"],
    ["a setting that is wrong", '{ "egress": "x" }', 'Expected "egress"'],
    ["agents that are no object", '{ "agents": [] }', 'Expected "agents"'],
  ])("refuses %s", async (_, content, message) => {
    using user = createInstallUser();
    user.write(toFile(user), content);

    await expect(add(user, "codex")).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining(message),
    });
    expect(user.read(toFile(user))).toBe(content);
  });

  it("refuses a symlink", async () => {
    using user = createInstallUser();
    const real = join(user.project, "real.json");
    user.write(real, "{}");
    symlinkSync(real, toFile(user));

    await expect(add(user, "codex")).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: `Cannot edit "${toFile(user)}": it is a symlink; name "${real}" itself. Nothing was changed.`,
    });
    expect(readFileSync(real, "utf8")).toBe("{}");
  });

  it.skipIf(process.getuid?.() === 0)("refuses a file that cannot be written", async () => {
    using user = createInstallUser();
    user.write(toFile(user), "{}");
    chmodSync(toFile(user), 0o444);

    await expect(add(user, "codex")).rejects.toMatchObject({ message: expect.stringContaining("EACCES") });
  });

  it.each([
    [["nonsense", "--config", "b.json"], 'There is no preset "nonsense". Presets: codex, '],
    [["codx", "--config", "b.json"], 'There is no preset "codx". Did you mean "codex"? '],
    [["codex", "--config", "b.json", "--name", "../x"], "Expected --name not to be empty"],
  ])("refuses %j", async (words, message) => {
    using user = createInstallUser();

    await expect(user.run(["agents", "add", ...words])).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining(message),
    });
    expect(user.files()).toEqual({});
  });
});
