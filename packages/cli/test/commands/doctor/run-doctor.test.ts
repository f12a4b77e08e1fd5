import { chmodSync, existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createFakeEngine } from "../../../../runner-docker/test/helpers/fake-engine.ts";
import { createBudgieUser } from "../../helpers/start-budgie.ts";

const WHOLE = { MemoryLimit: true, SwapLimit: true, PidsLimit: true, CpuCfsQuota: true };
// A kiro-cli of this machine would be run.
const NO_KIRO = { PATH: "/nowhere" };
const NO_ENGINE = { ...NO_KIRO, DOCKER_HOST: "unix:///nowhere/docker.sock" };

describe("budgie doctor", () => {
  it("says what is missing and what is not", async () => {
    await using user = await createBudgieUser({ malformedAgent: true });

    const { exitCode, stderr, stdout } = await user.command(["doctor"], NO_ENGINE);

    const lines = stdout.split("\n");
    expect({ exitCode, stderr }).toEqual({ exitCode: 3, stderr: "" });
    expect(lines[0]).toBe("note    image      not looked at, since there is no engine to ask");
    expect(lines[1]).toMatch(new RegExp(`^ok      login      in "${user.host.dataDir}", written \\S+ ago$`));
    expect(lines).toContain(`ok      agents     code-reviewer, reader, shell-worker, in "${user.host.agentsDir}"`);
    expect(stdout).toContain(
      `note    agents     Skipped the agent file "${join(user.host.agentsDir, "malformed.json")}": line 1, column `,
    );
    expect(lines).toContain(`ok      directory  "${user.sessionsDir}" can be written`);
    expect(stdout).toMatch(
      /\nfailed {2}engine {5}.*unix:\/\/\/nowhere\/docker\.sock.*\n\nTo do:\n {2}unset DOCKER_HOST .*\n$/,
    );
  });

  it("puts failures last, one line a cause, and below them the commands to type", async () => {
    await using user = await createBudgieUser({ login: false });
    rmSync(user.host.agentsDir, { recursive: true });
    const info = { ...WHOLE, SecurityOptions: ["name=seccomp,profile=default"] };
    await using fake = await createFakeEngine({ "GET /version": { ApiVersion: "1.41" }, "GET /info": info });

    const env = { ...fake.hostEnv, BUDGIE_AGENT_TIMOUT: "1m", ...NO_KIRO };
    const { exitCode, stdout } = await user.command(["doctor"], env);

    expect(exitCode).toBe(3);
    expect(stdout).toContain("note    variable   The variable BUDGIE_AGENT_TIMOUT is not one of budgie's");
    expect(stdout.slice(stdout.indexOf("\nfailed") + 1)).toMatch(
      new RegExp(
        `^failed  image      The sandbox image .*\nfailed  login      there is none in .*\n` +
          `failed  agents     There is no agents directory "${user.host.agentsDir}"\\. .* with --agents-dir\\.\n\n` +
          `To do:\n  budgie build-image\n  curl \\S+ https://cli.kiro.dev/install \\| bash && kiro-cli login {4}# needs curl and unzip: install them first\n  budgie init\n$`,
      ),
    );
    expect(stdout).not.toMatch(/scandir|there is no image to look into/);
  });

  it("lists the agents of the configuration file, which need no folder of Kiro's", async () => {
    await using user = await createBudgieUser();
    rmSync(user.host.agentsDir, { recursive: true });
    const file = join(user.host.home, "budgie.json");
    const agents = { coder: { protocol: "acp", description: "Codes.", command: "codex-acp" } };
    writeFileSync(file, JSON.stringify({ agents }));

    const { stdout } = await user.command(["doctor", "--config", file], NO_ENGINE);

    expect(stdout).toContain(`ok      agents     coder, in "${file}"\n`);
    expect(stdout).not.toMatch(/^failed +agents/m);
  });

  it("looks for the command of notify, and does not run it", async () => {
    await using user = await createBudgieUser();
    const inHome = (name: string): string => join(user.host.home, name);
    const [file, bell, rung] = [inHome("budgie.json"), inHome("bell"), inHome("rung")];
    writeFileSync(file, JSON.stringify({ notify: ["~/bell"] }));
    const ask = async () => {
      const { stdout } = await user.command(["doctor", "--config", file, "--json"], NO_ENGINE);
      const { findings } = JSON.parse(stdout) as { readonly findings: readonly { readonly what: string }[] };
      return findings.filter(({ what }) => what === "notify");
    };

    const none = await ask();
    writeFileSync(bell, `#!/bin/sh\ntouch ${rung}\n`);
    const unmarked = await ask();
    chmodSync(bell, 0o755);

    const what = "notify";
    const text = expect.stringContaining(`does not run: there is no program "${bell}"`);
    expect(none).toEqual([{ state: "failed", what, text }]);
    expect(unmarked).toMatchObject([{ state: "failed", what, todo: `chmod +x ${bell}` }]);
    expect(await ask()).toEqual([{ state: "ok", what, text: `"${bell}" can be run` }]);
    expect(existsSync(rung)).toBe(false);
  });

  it("reports a missing login and missing agents", async () => {
    await using user = await createBudgieUser({ login: false });

    const { stdout } = await user.command(["doctor", "--agents-dir", user.workspace], NO_ENGINE);

    expect(stdout).toMatch(/^failed {2}login {6}.*run "kiro-cli login"$/m);
    expect(stdout).toMatch(/^failed {2}agents {5}none, in ".*": the description of one must begin with "sub-agent:"$/m);
    expect(stdout).toContain(`  budgie init --agents-dir "${user.workspace}"\n`);
  });

  it("names an agent whose tool would have another's name as left out, and not among those on offer", async () => {
    await using user = await createBudgieUser();
    const twin = { name: "Reader", description: "sub-agent: Twin" };
    writeFileSync(join(user.host.agentsDir, "twin.json"), JSON.stringify(twin));

    const { stdout } = await user.command(["doctor"], NO_ENGINE);

    expect(stdout).toMatch(/^ok {6}agents {5}code-reviewer, reader, shell-worker, in /m);
    expect(stdout).toMatch(
      /^failed {2}agents {5}The agents "reader" .* would both be the tool .* Until then, ".*twin\.json" is left out\.$/m,
    );
  });

  it("refuses a section of an unknown agent", async () => {
    await using user = await createBudgieUser();
    const file = join(user.host.home, "budgie.json");
    writeFileSync(file, JSON.stringify({ agents: { "code-reviwer": {} } }));

    const { stdout } = await user.command(["doctor", "--config", file], NO_ENGINE);

    expect(stdout).toMatch(/^failed {2}agents {5}The file .* has a section for the agent "code-reviwer"/m);
  });

  it("prints its findings as JSON, without secrets", async () => {
    await using user = await createBudgieUser();

    const { stdout } = await user.command(["doctor", "--json"], { ...NO_ENGINE, KIRO_API_KEY: "key" });

    expect(JSON.parse(stdout)).toMatchObject({
      ok: false,
      findings: expect.arrayContaining([{ state: "ok", what: "login", text: "by KIRO_API_KEY" }]),
    });
    expect(stdout).not.toContain('"key"');
  });

  it.each([
    [[], {}, /^ok {6}login {6}in ".*", written \S+ ago$/m],
    [[], { KIRO_API_KEY: "canary" }, /^ok {6}login {6}by KIRO_API_KEY$/m],
    [["access-token"], { KIRO_API_KEY: "canary" }, /^ok {6}login {6}in .*; its access token alone, until 2099-01-01T/m],
    [["api-key"], { KIRO_API_KEY: "canary" }, /^ok {6}login {6}by KIRO_API_KEY$/m],
    [["api-key"], { KIRO_API_KEY: "" }, /^failed {2}login {6}KIRO_API_KEY is not set$/m],
    [["none"], { KIRO_API_KEY: "canary" }, /^ok {6}login {6}none is handed to a sandbox$/m],
  ])("checks the login that --credentials %j passes on, with %j", async (credentials, env, line) => {
    await using user = await createBudgieUser();
    const args = credentials.flatMap((what) => ["--credentials", what]);

    const { stdout } = await user.command(["doctor", ...args], { ...NO_ENGINE, ...env });

    expect(stdout).toMatch(line);
    expect(stdout).not.toContain("canary");
  });

  it("says how an expired access token is renewed", async () => {
    await using user = await createBudgieUser();
    user.host.changeDatabase("UPDATE auth_kv SET value = replace(value, '2099', '2020')");

    const { stdout } = await user.command(["doctor", "--credentials", "access-token"], NO_ENGINE);

    expect(stdout).toMatch(/^failed {2}login {6}.*has expired.*"kiro-cli whoami"/m);
  });

  it("lists the names of secrets among a sandbox's variables", async () => {
    await using user = await createBudgieUser();
    const env = { ...NO_ENGINE, KIRO_API_KEY: "canary" };

    const full = await user.command(["doctor"], env);
    const none = await user.command(["doctor", "--credentials", "none"], env);

    expect(full.stdout).toMatch(/^note {4}secrets {4}KIRO_API_KEY among a sandbox's variables: /m);
    expect(none.stdout).toMatch(/^ok {6}secrets {4}none in a sandbox's variables$/m);
  });

  it("notes hooks and files that a sandbox hides", async () => {
    await using user = await createBudgieUser();
    const hooks = { preToolUse: [{ command: "bash .kiro/hooks/guard.sh" }] };
    const agent = { name: "guarded", description: "sub-agent: Is guarded", hooks, resources: ["file://../up.md"] };
    writeFileSync(join(user.host.agentsDir, "guarded.json"), JSON.stringify(agent));

    const { stdout } = await user.command(["doctor"], NO_ENGINE);

    expect(stdout).toContain(
      'note    agents     a sandbox may hide these hooks of "guarded", which then do not run: ' +
        'guard hook "bash .kiro/hooks/guard.sh" (preToolUse)\n',
    );
    expect(stdout).toContain(
      'note    agents     A sandbox does not show all that the agent "guarded" names: "file://../up.md" ',
    );
    expect(stdout).not.toMatch(/^note.*"code-reviewer"/m);
  });

  it("reports a directory that is not writable", async () => {
    await using user = await createBudgieUser();
    const file = join(user.workspace, "file");
    writeFileSync(file, "");

    const { stdout } = await user.command(["doctor", "--state-dir", join(file, "state")], NO_ENGINE);

    expect(stdout).toContain(`failed  directory  "${join(file, "state")}" cannot be written\n`);
  });

  it.each([
    [{ SecurityOptions: ["name=cgroupns"] }, /^failed {2}seccomp {4}The engine runs .* without seccomp/m],
    [{ SecurityOptions: ["name=seccomp,profile=default"] }, /^ok {6}seccomp {4}by budgie's own profile$/m],
    [
      { PidsLimit: false },
      /^failed {2}limits {5}The engine cannot limit processes \(.* hold: bounded-processes\. Without --accept-/m,
    ],
    [{ SwapLimit: false }, /^note {4}swap {7}The engine cannot limit swap/m],
    [{ SecurityOptions: ["name=rootless"] }, /^ok {6}users {6}the engine is rootless/m],
    [{ SecurityOptions: ["name=apparmor"] }, /^ok {6}mandatory {2}AppArmor$/m],
  ])("says which protections an engine with %j enforces", async (info, line) => {
    await using user = await createBudgieUser();
    const answers = { "GET /version": { ApiVersion: "1.41", Arch: "amd64" }, "GET /info": { ...WHOLE, ...info } };
    await using fake = await createFakeEngine(answers);

    const { stdout } = await user.command(["doctor"], { ...fake.hostEnv, ...NO_KIRO });

    expect(stdout).toMatch(line);
  });

  it("proves nothing without an engine, and says so", async () => {
    await using user = await createBudgieUser();

    const text = await user.command(["doctor", "--prove"], NO_ENGINE);
    const json = await user.command(["doctor", "--prove", "--json"], NO_ENGINE);

    expect(text.exitCode).toBe(3);
    expect(text.stdout).toMatch(/\nfailed {2}claims {5}not proven: there is no engine to prove them on\n\nTo do:\n/);
    expect(JSON.parse(json.stdout)).toMatchObject({
      ok: false,
      findings: expect.arrayContaining([
        { state: "failed", what: "claims", text: "not proven: there is no engine to prove them on" },
      ]),
    });
    expect(JSON.parse(json.stdout)).not.toHaveProperty("proof");
  });

  it("notes an image that is meant for another architecture", async () => {
    await using user = await createBudgieUser();
    const image = { Id: "sha256:abc", Created: "2026-01-02T03:04:05Z", Os: "linux", Architecture: "arm64" };
    await using fake = await createFakeEngine({
      "GET /version": { ApiVersion: "1.41", Os: "linux", Arch: "amd64" },
      "GET /info": {},
      "GET /images/there/json": image,
    });

    const { stdout } = await user.command(["doctor", "--sandbox-image", "there"], { ...fake.hostEnv, ...NO_KIRO });

    expect(stdout).toMatch(/^note {4}image {6}it is for linux\/arm64 and the engine for linux\/amd64: .*emulator/m);
  });
});
