import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createInstallUser } from "../install/create-install-user.ts";

it("budgie agents add writes into the default file, which every command then reads", async () => {
  using user = createInstallUser();
  const added = await user.run(["agents", "add", "codex", "--agents-dir", user.home]);
  const file = join(user.home, ".config/budgie/config.json");

  expect(added.stdout).toContain(`\nWrote "${file}".\n`);
  expect((await user.run(["list-tools", "--agents-dir", user.home])).stdout).toContain("kiro-subagents.codex\n");
});

describe("budgie config set", () => {
  it("writes a new default file, and then changes single keys, which config show names", async () => {
    using user = createInstallUser();
    const file = join(user.home, ".config/budgie/config.json");

    await user.run(["config", "set", "sandbox", "true"]);
    await user.run(["config", "set", "agents.reader.timeout", "5m"]);
    const { stdout } = await user.run(["config", "set", "allowHost", '["a.example.com"]']);

    expect(JSON.parse(user.read(file))).toEqual({
      sandbox: true,
      agents: { reader: { timeout: "5m" } },
      allowHost: ["a.example.com"],
    });
    expect(stdout).toContain(`Wrote "${file}".`);
    const shown = await user.run(["config", "show"]);
    expect(shown.stdout).toMatch(new RegExp(`^sandbox +true +${file}$`, "m"));

    await user.run(["config", "unset", "agents.reader"]);
    await user.run(["config", "unset", "allowHost"]);
    expect(JSON.parse(user.read(file))).toEqual({ sandbox: true, agents: {} });
    expect((await user.run(["config", "unset", "allowHost"])).stdout).toBe(`Nothing to change in "${file}".\n`);
  });

  it("takes quotes around a name with dots", async () => {
    using user = createInstallUser();
    const file = join(user.project, "budgie.json");

    await user.run(["config", "set", 'agents."kagent.reviewer".timeout', "5m", "--config", file]);

    expect(JSON.parse(user.read(file))).toEqual({ agents: { "kagent.reviewer": { timeout: "5m" } } });
  });

  it("sets a key for one directory, in the section that the file has for it, which config show --for then names", async () => {
    using user = createInstallUser();
    const file = join(user.home, ".config/budgie/config.json");
    const app = join(user.home, "code/app");

    await user.run(["config", "set", "--for", app, "image", "node:22"]);
    await user.run(["config", "set", "--for", app, "env.TOKEN", "secret"]);
    await user.run(["config", "set", "--for", app, "budget.day.turns", "5"]);
    await user.run(["config", "set", "sandbox", "true"]);
    await user.run(["config", "set", "limits.memory", "2g"]);
    const { stdout } = await user.run(["config", "set", "--for", app, "limits.memory", "8g"]);

    const section = { image: "node:22", env: { TOKEN: "secret" }, limits: { memory: "8g" } };
    expect(JSON.parse(user.read(file))).toMatchObject({ workspaces: { "~/code/app": section } });
    expect(stdout).not.toContain("secret");
    const there = await user.run(["config", "show", "--for", join(app, "src")]);
    const from = `"workspaces.~/code/app" in ${file}`;
    expect(there.stdout).toMatch(new RegExp(`^sandboxImage +"node:22" +${from}$`, "m"));
    expect(there.stdout).toMatch(new RegExp(`^limits +{"memoryBytes":8589934592} +${from}$`, "m"));
    expect(there.stdout).toMatch(new RegExp(`^env +{"TOKEN":"\\(hidden\\)"} +${from}$`, "m"));
    expect(there.stdout).toMatch(new RegExp(`^workspaces.~/code/app.budget +{"day":{"turns":5}} +${from}$`, "m"));
    const all = await user.run(["config", "show"]);
    expect(all.stdout).toMatch(/^sandboxImage +"budgie-sandbox:latest" +default$/m);
    expect(all.stdout).toMatch(/^workspaces\.~\/code\/app +{"image":"node:22"/m);
    expect(all.stdout).not.toContain("secret");

    await user.run(["config", "unset", "--for", app, "image"]);
    expect(user.read(file)).not.toContain("node:22");
  });

  it("keeps comments, and hides the values of other keys", async () => {
    using user = createInstallUser();
    const file = join(user.project, "budgie.json");
    user.write(file, '{\n  // for all\n  "model": "secret",\n  "egress": "open",\n  "sandbox": true\n}\n');

    const { stdout } = await user.run(["config", "set", "egress", "none", "--config", file]);

    expect(user.read(file)).toBe('{\n  // for all\n  "model": "secret",\n  "egress": "none",\n  "sandbox": true\n}\n');
    expect(stdout).toContain('+  "egress": "none",\n');
    expect(stdout).not.toContain("secret");
  });

  it.each([
    [["egres", "none"], 'has a key that is unknown in its content: "egres". Did you mean "egress"?'],
    [["egress", "some"], 'Expected "egress" in "'],
    [["agents.reader.timeout", "soon"], '"agents.reader.timeout" in "'],
    [['agents."a.timeout', "5m"], "Expected a key such as sandbox"],
    [["agents..timeout", "5m"], "Expected a key such as sandbox"],
  ])("refuses %j, and changes nothing", async (words, message) => {
    using user = createInstallUser();
    const file = join(user.project, "budgie.json");
    user.write(file, '{ "sandbox": true }\n');

    await expect(user.run(["config", "set", ...words, "--config", file])).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining(message),
    });
    expect(user.read(file)).toBe('{ "sandbox": true }\n');
  });
});
