import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  createBudgieUser,
  toEngineVariables,
  toText,
  type BudgieUser,
} from "../../../../cli/test/helpers/start-budgie.ts";
import { listTraces, openEngine } from "../../../../cli/test/helpers/engine.ts";

const sandbox = true;

function writeConfig({ host }: BudgieUser, content: unknown): string {
  const file = join(host.home, "budgie.json");
  writeFileSync(file, JSON.stringify(content));
  return file;
}

describe("a forbidden workspace", () => {
  it("is everything that contains a secret of the host, or a way to one, by any name", async () => {
    await using user = await createBudgieUser();
    const { home } = user.host;
    const app = join(home, "code/app");
    for (const folder of [app, join(home, ".ssh/keys"), join(home, "state/x"), join(home, "sessions")]) {
      mkdirSync(folder, { recursive: true });
    }
    for (const folder of [".aws", ".config/gh", ".gnupg/private", "code/app/.hidden", "prompts"])
      mkdirSync(join(home, folder), { recursive: true });
    symlinkSync(join(home, ".ssh"), join(app, "link"));
    symlinkSync("../..", join(app, "up"));
    const args = ["--state-dir", join(home, "state"), "--sessions-dir", join(home, "sessions")];
    args.push("--prompts-dir", join(home, "prompts"));
    const { ask } = await user.serve({ sandbox, args });
    const outcomeOf = async (directory: string): Promise<string> =>
      toText(await ask("code-reviewer", { prompt: "Hello", directory }));

    const refused: readonly (readonly [string, RegExp])[] = [
      ["/", /holds your home directory/],
      [dirname(home), /holds your home directory/],
      [home, /is your home directory/],
      [join(home, ".kiro"), /is Kiro's settings/],
      [join(home, ".kiro/agents"), /lies in Kiro's settings/],
      [join(home, ".ssh"), /is your SSH keys/],
      [join(home, ".ssh/keys"), /lies in your SSH keys/],
      [join(home, ".aws"), /is your AWS credentials/],
      [join(home, ".gnupg/private"), /lies in your GnuPG keys/],
      [join(home, ".local/share"), /holds Kiro's login/],
      [join(home, "state/x"), /lies in budgie's own state/],
      [join(home, "sessions"), /is budgie's session folders/],
      [join(home, "prompts"), /is the agents' prompt files/],
      [join(home, ".config/gh"), /lies in ".*\/\.config", where programs keep logins/],
      [join(app, ".hidden"), /lies in ".*\/app\/\.hidden", where programs/],
      ["/etc", /is the system's own files/],
      ["/usr/share", /lies in the system's own files/],
      ["/var", /holds /],
      ["/run", /(?:is|holds) the sockets/],
      ["/proc", /is the system's own view/],
      ["/proc/self/task", /lies in the system's own view/],
      ["/dev/fd", /lies in the system's own view/],
      [await socketFolder(), /holds a container engine's socket|the sockets of this machine's services/],
      [join(app, "link"), /\(really ".*\.ssh"\) is your SSH keys/],
      [join(app, "up"), /\(really ".*"\) is your home directory/],
    ];
    for (const [directory, message] of refused) {
      expect(await outcomeOf(directory)).toMatch(/^WORKSPACE_INVALID: /);
      expect(await outcomeOf(directory)).toMatch(message);
    }
    expect(await listTraces(user)).toEqual([]);
    expect(await outcomeOf(app)).not.toContain("WORKSPACE_INVALID");
  });
});

describe("a directory that is named through a symlink", () => {
  it("is accepted for a sandbox if an allowed root covers both, and the result has its real path", async () => {
    await using user = await createBudgieUser();
    const [app, other] = [join(user.workspace, "app"), join(user.host.home, "other")];
    for (const folder of [join(app, "ui"), other]) mkdirSync(folder, { recursive: true });
    symlinkSync("ui", join(app, "near"));
    symlinkSync("../../other", join(app, "far"));
    const { ask } = await user.serve({ sandbox, args: ["--allow-root", app, "--allow-root", other] });

    const near = await ask("code-reviewer", { prompt: "[[say: Done.]]", directory: join(app, "near") });
    const far = await ask("code-reviewer", { prompt: "Hello", directory: join(app, "far") });

    expect(near.structuredContent).toMatchObject({ response: "Done.", directory: join(app, "ui") });
    expect(toText(far)).toBe(
      `WORKSPACE_INVALID: The directory "${join(app, "far")}" (really "${other}") is named by a link that an agent ` +
        `may have made. Pass "${other}" if you mean that, or allow a directory that holds both with --allow-root.`,
    );
  });
});

describe("a guard hook that a sandbox hides", () => {
  it("is named in the result, because the agent works without it", async () => {
    await using user = await createBudgieUser();
    const file = join(user.host.agentsDir, "shell-worker.json");
    const hooks = { preToolUse: [{ matcher: "execute_bash", command: "bash .kiro/hooks/guard.sh" }] };
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), hooks }));
    mkdirSync(join(user.workspace, ".kiro/hooks"), { recursive: true });
    writeFileSync(join(user.workspace, ".kiro/hooks/guard.sh"), "exit 2\n");
    const { ask } = await user.serve({ sandbox });

    const { structuredContent } = await ask("shell-worker", { prompt: "[[run: ls .kiro/hooks]]" });

    expect(structuredContent?.["warnings"]).toContainEqual(
      expect.stringMatching(/^The guard hook "bash \.kiro\/hooks\/guard\.sh" \(preToolUse\) did not run, since /),
    );
  });
});

/** Returns the socket of this test's engine, which is not in a temporary folder. */
async function socketFolder(): Promise<string> {
  const { modem } = await openEngine();
  return dirname((modem as { readonly socketPath?: string }).socketPath ?? "/var/run/docker.sock");
}

describe("--workspace ro", () => {
  const prompt = "[[run: touch made && echo written || echo refused]]";

  it("applies to every agent, and no call can circumvent it", async () => {
    await using user = await createBudgieUser();
    const { ask } = await user.serve({ sandbox, args: ["--workspace", "ro"] });

    expect(toText(await ask("shell-worker", { prompt }))).toContain("refused");
    expect(toText(await ask("shell-worker", { prompt, workspace: "rw" }))).toMatch(
      /^INPUT_INVALID: The argument "workspace" cannot be "rw": this agent is allowed "ro"/,
    );
    expect(existsSync(join(user.workspace, "made"))).toBe(false);
  });

  it("can apply to one agent's section or one call, and to no other", async () => {
    await using user = await createBudgieUser();
    const file = writeConfig(user, { agents: { "code-reviewer": { workspace: "ro", egress: "none" } } });
    const { ask } = await user.serve({ sandbox, args: ["--config", file] });

    const answer = await ask("code-reviewer", { prompt: "[[say: Reviewed.]]" });
    const loosening = await ask("code-reviewer", { prompt: "Hello", egress: "open" });
    const readOnly = await ask("shell-worker", { prompt, workspace: "ro" });
    const { sessionId } = readOnly.structuredContent ?? {};
    const writable = await ask("shell-worker", { prompt, sessionId });

    expect(toText(answer)).toBe("Reviewed.");
    expect(toText(loosening)).toMatch(/^INPUT_INVALID: The argument "egress" cannot be "open"/);
    expect(toText(readOnly)).toContain("refused");
    expect(toText(writable)).toContain("written");
  });
});

describe("a section's sandbox limits", () => {
  it("apply to the agent's programs, and not to other agents'", async () => {
    await using user = await createBudgieUser();
    const prompt =
      "[[run: ls /sys/class/net | tr '\\n' ' '; cat /sys/fs/cgroup/pids/pids.max /sys/fs/cgroup/pids.max 2>/dev/null]]";
    const file = writeConfig(user, { agents: { "shell-worker": { egress: "none", limits: { pids: 77 } } } });
    const walled = await user.serve({ sandbox, args: ["--config", file] });
    const open = await user.serve({ sandbox, args: ["--egress", "bridge"] });

    expect(toText(await walled.ask("shell-worker", { prompt }))).toBe("lo 77");
    expect(toText(await open.ask("shell-worker", { prompt }))).toMatch(/^eth0 .*lo 512$/);
  });

  it("cannot exceed the limits of every agent", async () => {
    await using user = await createBudgieUser();
    const file = writeConfig(user, { agents: { "shell-worker": { workspace: "rw" } } });

    const argv = ["--sandbox", "--sandbox-image", "any", "--workspace", "ro", "--config", file];
    const { exitCode, stderr } = await user.command(argv, toEngineVariables());

    expect(exitCode).toBe(2);
    expect(stderr).toContain('gives the agent "shell-worker" workspace "rw", and "ro" is the most');
  });
});
