import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createCertificateAuthority, createInterceptingProxy, serveOnLoopback } from "@budgie/testkit";
import { removeKept } from "../helpers/engine.ts";
import { createBudgieUser, TEST_IMAGE, toEngineVariables, type BudgieUser } from "../helpers/start-budgie.ts";

/** Returns the command line, and the variables of a user whose engine is there. */
function init(user: BudgieUser, ...args: readonly string[]) {
  return initWith(user, {}, ...args);
}

function initWith(user: BudgieUser, own: Readonly<Record<string, string>>, ...args: readonly string[]) {
  const asRoot = process.getuid?.() === 0 ? { BUDGIE_ALLOW_ROOT: user.host.home } : {};
  const env = { ...toEngineVariables(), ...asRoot, ...own };
  return user.command(["init", "-C", user.workspace, "--sandbox-image", TEST_IMAGE, ...args], env);
}

describe("budgie init", () => {
  it("leads a user without an agent to an answer and a client, and does nothing twice", async () => {
    await using user = await createBudgieUser();
    rmSync(user.host.agentsDir, { recursive: true });
    const client = join(user.host.home, ".claude.json");
    writeFileSync(client, "{}");

    const first = await init(user, "--yes");
    const written = readFileSync(join(user.host.agentsDir, "code-reviewer.json"), "utf8");
    const second = await init(user, "--yes");
    await removeKept(user);

    expect(first).toMatchObject({ exitCode: 0 });
    expect(first.stdout).toMatch(/^ok {6}engine .*\n(?:ok .*\n)*ok {6}image /m);
    expect(first.stdout).toContain(`wrote "${join(user.host.agentsDir, "code-reviewer.json")}"`);
    expect(first.stdout).toContain("You asked: Say in one sentence what is in this directory.");
    expect(JSON.parse(readFileSync(client, "utf8"))).toMatchObject({
      mcpServers: { "kiro-subagents": { args: expect.arrayContaining(["--sandbox-image", TEST_IMAGE]) } },
    });
    expect(second.exitCode).toBe(0);
    expect(second.stdout).toContain(`ok      agent      code-reviewer, in "${user.host.agentsDir}"`);
    expect(second.stdout).toContain("Nothing to change");
    expect(readFileSync(join(user.host.agentsDir, "code-reviewer.json"), "utf8")).toBe(written);
    // The README shows the agent that it writes.
    const readme = readFileSync(new URL("../../../../README.md", import.meta.url), "utf8");
    expect(JSON.parse(/```json\n([^`]*"code-reviewer"[^`]*)```/.exec(readme)?.[1] ?? "")).toEqual(JSON.parse(written));
  });

  it("changes nothing without a person's yes, and says what to type", async () => {
    await using user = await createBudgieUser();
    const client = join(user.host.home, ".claude.json");
    writeFileSync(client, "{}");

    const { exitCode, stdout } = await init(user);
    await removeKept(user);

    expect(exitCode).toBe(0);
    expect(stdout).toContain('left Claude Code alone: "budgie install claude" adds budgie');
    expect(readFileSync(client, "utf8")).toBe("{}");
  });

  it("stops at what is missing, with the command that mends it, before it writes anything", async () => {
    await using user = await createBudgieUser({ login: false });
    rmSync(user.host.agentsDir, { recursive: true });
    const image = ["--sandbox-image", `budgie-no-such-image:${process.pid}`];

    const withoutEngine = await user.command(["init", "--yes"], { DOCKER_HOST: "unix:///nowhere/docker.sock" });
    const withoutImage = await user.command(["init", ...image], toEngineVariables());
    const withoutLogin = await init(user, "--yes");

    expect(withoutEngine.exitCode).toBe(3);
    expect(withoutEngine.stdout).toMatch(
      /^failed {2}engine .*nowhere.*\n[^]*To do:\n {2}unset DOCKER_HOST[^]*Then run "budgie init" again/m,
    );
    expect(withoutImage.exitCode).toBe(3);
    expect(withoutImage.stdout).toMatch(/To do:\n {2}budgie build-image --tag budgie-no-such-image/);
    expect(withoutLogin.exitCode).toBe(1);
    expect(withoutLogin.stdout).toContain("kiro-cli login");
    expect(existsSync(user.host.agentsDir)).toBe(false);
  });

  it("behind a network that inspects TLS, names the file to add before it calls anybody", async () => {
    await using authority = await createCertificateAuthority("Corp");
    await using server = await serveOnLoopback(createServer(await authority.issue("registry.test")));
    await using user = await createBudgieUser();
    const allowed = ["--allow-host", `registry.test:${server.port}=127.0.0.1`];

    await using proxy = await createInterceptingProxy(authority, { "q.us-east-1.amazonaws.com": undefined });

    const unknown = await initWith(user, { HTTPS_PROXY: proxy.url });
    const offered = await initWith(user, { NODE_EXTRA_CA_CERTS: authority.file }, ...allowed);
    const trusted = await init(user, ...allowed, "--ca-file", authority.file);
    await removeKept(user);

    expect(unknown.exitCode).toBe(1);
    expect(unknown.stdout).toMatch(/^failed {2}egress .*"q\.us-east-1\.amazonaws\.com:443".*"Corp"/m);
    expect(unknown.stdout).not.toContain("call ");
    expect(offered.exitCode).toBe(1);
    expect(offered.stdout).toContain(`To do:\n  budgie config set caFile "${authority.file}"\n`);
    expect(trusted.exitCode).toBe(0);
  });
});
