import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { startKagentServer } from "@budgie/testkit";
import { createBudgieUser, type BudgieUser } from "../../helpers/start-budgie.ts";

const NO_ENGINE = { DOCKER_HOST: "unix:///nowhere/docker.sock", PATH: "/nowhere" };

const PROGRAM = { protocol: "acp", description: "Codes.", command: "coder" };

/** Writes a configuration, and returns the options with which budgie offers only its agents. */
function configure(user: BudgieUser, content: unknown): readonly string[] {
  const [file, none] = [join(user.host.home, "budgie.json"), join(user.host.home, "none")];
  writeFileSync(file, JSON.stringify(content));
  mkdirSync(none, { recursive: true });
  return ["doctor", "--config", file, "--agents-dir", none];
}

describe("budgie doctor with configured agents", () => {
  it("looks for each program on the PATH without a sandbox, and for its variables", async () => {
    await using user = await createBudgieUser();
    const bin = join(user.host.home, "bin");
    mkdirSync(bin);
    for (const name of ["coder", "plain"]) writeFileSync(join(bin, name), "#!/bin/sh\n");
    chmodSync(join(bin, "coder"), 0o755);
    const agents = {
      coder: { ...PROGRAM, env: ["SET", "UNSET"] },
      plain: { ...PROGRAM, command: "plain" },
      path: { ...PROGRAM, command: "/nowhere/coder" },
    };

    const env = { ...NO_ENGINE, PATH: bin, SET: "canary" };
    const { stdout } = await user.command(configure(user, { agents }), env);

    const lines = stdout.split("\n").filter((line) => line.includes(" agent  "));
    expect(lines).toEqual([
      `ok      agent      coder: "${join(bin, "coder")}"`,
      "failed  agent      coder: it needs UNSET, which is not set here",
      'failed  agent      plain: there is no program "plain" on the PATH',
      'failed  agent      path: there is no program "/nowhere/coder"',
    ]);
    expect(stdout).not.toContain("canary");
  });

  it("looks for the files of a home with a sandbox only", async () => {
    await using user = await createBudgieUser();
    const home = { ".coder/here.json": "budgie.json", ".coder/gone.json": "gone.json" };
    const args = configure(user, { agents: { coder: { ...PROGRAM, home } } });

    const sandboxed = await user.command([...args, "--sandbox"], NO_ENGINE);
    const local = await user.command(args, NO_ENGINE);

    const line = `failed  agent      coder: it needs "${join(user.host.home, "gone.json")}", which is not there\n`;
    expect(sandboxed.stdout).toContain(line);
    expect(sandboxed.stdout).not.toContain(`coder: it needs "${join(user.host.home, "budgie.json")}"`);
    expect(local.stdout).not.toContain("gone.json");
  });

  it("says nothing of kiro-cli and its login unless an agent of Kiro's is on offer", async () => {
    await using user = await createBudgieUser({ login: false });
    const args = configure(user, { agents: { coder: PROGRAM } });

    const without = await user.command(args, NO_ENGINE);
    const beside = await user.command([...args, "--agents-dir", user.host.agentsDir], NO_ENGINE);

    expect(without.stdout).not.toMatch(/^\w+ +(?:login|program) /m);
    expect(beside.stdout).toMatch(/^failed +login +.*kiro-cli login/m);
  });

  it("names what Kiro's installer needs on a machine without it", async () => {
    await using user = await createBudgieUser({ login: false });
    const bin = join(user.host.home, "bin");
    mkdirSync(bin);
    for (const name of ["curl", "unzip"]) writeFileSync(join(bin, name), "", { mode: 0o755 });

    const bare = await user.command(["doctor"], NO_ENGINE);
    const usual = await user.command(["doctor"], { ...NO_ENGINE, PATH: bin });

    expect(bare.stdout).toMatch(/install \| bash && kiro-cli login {4}# needs curl and unzip: install them first$/m);
    expect(usual.stdout).toMatch(/install \| bash && kiro-cli login$/m);
  });
});

describe("budgie doctor with agents elsewhere", () => {
  const FAR = { protocol: "a2a", description: "Far.", url: "http://127.0.0.1:1", headers: { "x-key": "$UNSET" } };

  it("names the variables that their headers lack, and needs no Kiro for them", async () => {
    await using user = await createBudgieUser({ login: false });

    const { stdout } = await user.command(configure(user, { agents: { far: FAR } }), NO_ENGINE);

    expect(stdout).toContain("failed  agent      far: it needs UNSET, which is not set here\n");
    expect(stdout).toMatch(/^ok +agents +far, in ".*budgie\.json"$/m);
    expect(stdout).not.toMatch(/^\w+ +(?:login|program) /m);
  });

  it("finds those of kagent, and takes an unknown name with a dot for one that may come", async () => {
    await using user = await createBudgieUser();
    await using server = await startKagentServer({ agents: [{ name: "k8s" }] });
    const kagent = { url: server.url, allowRemote: true };
    const agents = { "kagent.k8s": { timeout: "5m" }, "kagent.later": { timeout: "5m" } };

    const { stdout } = await user.command(configure(user, { kagent, agents }), NO_ENGINE);

    expect(stdout).toMatch(/^ok +agents +kagent\.k8s, in /m);
    expect(stdout).toMatch(/^note +agents +The agent "kagent\.later", which has settings, is not there now/m);
    expect(stdout).not.toMatch(/^failed +agents/m);
  });

  it("reports a backend that does not answer, and no setting for it", async () => {
    await using user = await createBudgieUser();
    const kagent = { url: "http://127.0.0.1:1", allowRemote: true };
    const args = configure(user, { kagent, agents: { "kagent.k8s": { timeout: "5m" } } });

    const { stdout } = await user.command(args, NO_ENGINE);

    expect(stdout).toMatch(
      /^failed +agents +The agents of kagent stay as they were\. Cannot reach the kagent backend/m,
    );
    expect(stdout).not.toContain("which does not exist");
  });

  it("refuses those that a sandbox does not hold, as a server does, and does not ask kagent for any", async () => {
    await using user = await createBudgieUser();
    await using server = await startKagentServer({ agents: [{ name: "k8s" }] });
    const args = configure(user, {
      sandbox: true,
      kagent: { url: server.url },
      agents: { far: { ...FAR, headers: {} } },
    });

    const { stdout } = await user.command(args, NO_ENGINE);

    expect(stdout).toMatch(
      /^failed +agents +The agents of "kagent" run elsewhere, where --sandbox does not hold them/m,
    );
    expect(stdout).toMatch(/^failed +agents +The agent "far" .* runs elsewhere, where --sandbox does not hold it/m);
    expect(server.asked()).toBe(0);
  });
});
