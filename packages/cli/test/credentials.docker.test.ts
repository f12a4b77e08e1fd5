import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { listTraces, openEngine } from "./helpers/engine.ts";
import { createBudgieUser, toEngineVariables, toText, waitFor, type BudgieUser } from "./helpers/start-budgie.ts";

const sandbox = true;
const KEY = "ksk-canary-of-the-host";
const MODES = ["full", "access-token", "api-key", "none"] as const;
const AT_WORK = "[[write at-work: yes]][[sleep 60000]]";

describe("budgie --sandbox --credentials", () => {
  it.each([
    ["full", KEY],
    ["api-key", KEY],
    ["access-token", undefined],
  ])("%s lets the agent work, and passes it KIRO_API_KEY or not", async (credentials, expected) => {
    await using user = await createBudgieUser();
    const { ask } = await user.start({ sandbox, args: ["--credentials", credentials], env: { KIRO_API_KEY: KEY } });

    const answer = await ask("code-reviewer", { prompt: "[[env]]" });

    expect((JSON.parse(toText(answer)) as Record<string, string>)["KIRO_API_KEY"]).toBe(expected);
  });

  it("none gives the agent no login, and says what to check", async () => {
    await using user = await createBudgieUser();
    const args = ["--credentials", "none", "--agent-timeout", "4s"];
    const { ask } = await user.start({ sandbox, args, env: { KIRO_API_KEY: KEY } });

    const answer = await ask("code-reviewer", { prompt: "Hello" });

    expect(toText(answer)).toMatch(/^LOGIN_REQUIRED: .*--credentials/);
  });

  it("access-token explains how an expired token is renewed", async () => {
    await using user = await createBudgieUser();
    user.host.changeDatabase("UPDATE auth_kv SET value = replace(value, '2099', '2020') WHERE key LIKE '%:token'");
    const { ask } = await user.start({ sandbox, env: { BUDGIE_CREDENTIALS: "access-token" } });

    const answer = await ask("code-reviewer", { prompt: "Hello" });

    expect(toText(answer)).toMatch(/^LOGIN_REQUIRED: .* Run "kiro-cli whoami"/);
    expect(toText(answer)).not.toContain(user.host.canaries.login);
  });

  it("access-token quotes nothing of a login that it cannot parse", async () => {
    await using user = await createBudgieUser();
    user.host.changeDatabase("UPDATE auth_kv SET value = value || '}' WHERE key LIKE '%:token'");
    const { ask, stderr } = await user.start({ sandbox, args: ["--credentials", "access-token", "--verbose"] });

    const answer = await ask("code-reviewer", { prompt: "Hello" });

    expect(toText(answer)).toMatch(/^LOGIN_REQUIRED: /);
    expect(toText(answer) + stderr()).not.toContain(user.host.canaries.login);
  });
});

describe("a secret of the host", () => {
  it.each(MODES)(
    "is with %s in no argument, label, name, log or file, and in nothing that the engine describes",
    async (mode) => {
      await using user = await createBudgieUser();
      const args = ["--credentials", mode, "--verbose"];
      const { ask, child, ended, stderr } = await user.start({ sandbox, args, env: { KIRO_API_KEY: KEY } });
      ask("shell-worker", { prompt: AT_WORK }).catch(() => undefined);
      await expect.poll(() => isAgentRunning(user)).toBe(true);
      // Without a login it never starts to work.
      if (mode !== "none") await waitFor(() => existsSync(join(user.workspace, "at-work")));

      const described = await inspectAll(user);
      const processes = listCommandLines();
      child.stdin?.end();
      await ended;

      const secrets = [KEY, user.host.canaries.login];
      const found = (text: string) => secrets.filter((secret) => text.includes(secret));
      expect(described).toContain("dev.budgie.session");
      expect(found(described)).toEqual([]);
      if (mode !== "none") expect(processes).toContain("kiro-cli");
      expect(found(processes)).toEqual([]);
      expect(stderr()).toContain("shell-worker");
      expect(found(stderr())).toEqual([]);
      expect(found(readAll(join(user.host.home, ".local", "state")))).toEqual([]);
      expect(found(readAll(user.workspace))).toEqual([]);
    },
  );
});

describe("budgie --sandbox --runtime", () => {
  it("runs agents with a runtime of the engine", async () => {
    await using user = await createBudgieUser();
    const { ask } = await user.start({ sandbox, args: ["--runtime", "runc"] });

    expect(toText(await ask("code-reviewer", { prompt: "[[say: Here.]]" }))).toBe("Here.");
  });

  it("does not start with one that the engine lacks, and names the available ones", async () => {
    await using user = await createBudgieUser();

    const { exitCode, stderr, stdout } = await user.run(["--sandbox", "--runtime", "nosuch"], toEngineVariables());

    expect({ exitCode, stdout }).toEqual({ exitCode: 3, stdout: "" });
    expect(stderr).toMatch(/^budgie: The engine has no runtime "nosuch"; it has .*"runc".*\n$/);
    expect(await listTraces(user)).toEqual([]);
  });

  it("is checked by the doctor", async () => {
    await using user = await createBudgieUser();
    const look = (runtime: string) => user.run(["doctor", "--runtime", runtime], toEngineVariables());

    expect((await look("runc")).stdout).toMatch(/^ok {6}runtime {4}the engine has "runc"$/m);
    expect((await look("nosuch")).stdout).toMatch(/^failed {2}runtime {4}The engine has no runtime "nosuch"; it has/m);
  });
});

async function isAgentRunning(user: BudgieUser): Promise<boolean> {
  const turn = (await listTraces(user)).find((name) => name.includes("budgie-turn-"));
  if (turn === undefined) return false;
  const { State } = await (await openEngine()).getContainer(turn.slice(1)).inspect();
  return State.Running;
}

/** Returns the engine's whole description of this user's objects. */
async function inspectAll(user: BudgieUser): Promise<string> {
  const docker = await openEngine();
  const inspected = (await listTraces(user)).map(async (name) =>
    // Engines put a slash before the name of a container only.
    name.startsWith("/") ? docker.getContainer(name.slice(1)).inspect() : docker.getVolume(name).inspect(),
  );
  return JSON.stringify(await Promise.all(inspected));
}

/** Returns the arguments of every process on this machine, including those in containers. */
function listCommandLines(): string {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.map((pid) => readFile(`/proc/${pid}/cmdline`)).join("\n");
}

function readFile(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}

function readAll(folder: string): string {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const files = names.map((name) => join(folder, name)).filter((path) => statSync(path).isFile());
  return files.map(readFile).join("\n");
}
