import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { createSessionId, type Command, type RunnerSession } from "@budgie/core";
import { createHostHome, type HostHome } from "@budgie/testkit";
import { createDockerPlace, KIRO_IMAGE, run, runCommand, testEngine } from "./docker-place.ts";

const place = createDockerPlace();
afterAll(() => place[Symbol.asyncDispose]());

let count = 0;
let directory: string;
beforeEach(() => mkdirSync((directory = join(place.root, `workspace-${count++}`))));

/** A session of the stand-in kiro-cli for a host's user. */
async function open(host: HostHome) {
  const { runner } = await place.createRunner({ image: KIRO_IMAGE, kiroDataDir: host.dataDir });
  const session = await runner.openSession(createSessionId());
  const kiro = (prompt: string, env: Command["env"] = {}) => startKiro(session, host, { prompt, env });
  return { runner, session, kiro, sh: (script: string) => run(session, directory, script) };
}

async function startKiro(
  session: RunnerSession,
  host: HostHome,
  { env, prompt }: { prompt: string; env: Command["env"] },
) {
  const command: Command = {
    argv: ["kiro-cli", "chat", "--no-interactive", "--agent", "shell-worker", "--resume"],
    env,
    projections: [{ source: host.agentsDir, home: ".kiro/agents" }],
    login: "kiro",
  };
  const child = await session.start(command, { directory, input: prompt });
  const chunks: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  const errors: Buffer[] = [];
  child.stderr.on("data", (chunk: Buffer) => errors.push(chunk));
  const exit = await child.exit;
  return { exit, stdout: Buffer.concat(chunks).toString(), stderr: Buffer.concat(errors).toString() };
}

/** Reads the session's database as it is in the volume, through the engine and not through the code under test. */
async function sessionDatabase(session: RunnerSession, sql: string) {
  const { stdout } = await run(session, directory, 'cd "$HOME/.local/share/kiro-cli" && base64 -w0 data.sqlite3');
  const path = join(place.root, "copy.sqlite3");
  writeFileSync(path, Buffer.from(stdout, "base64"));
  const database = new Database(path);
  try {
    return database.prepare(sql).raw().all().flat();
  } finally {
    database.close();
  }
}

function changeHost({ database }: HostHome, sql: string): void {
  const opened = new Database(database);
  opened.exec(sql);
  opened.close();
}

const ROTATE = "UPDATE auth_kv SET value = replace(value, '-access', '-rotated') WHERE key LIKE '%:token'";
const TOKEN = "SELECT value FROM auth_kv WHERE key LIKE '%:token'";

describe("the login in a session", () => {
  it("lets kiro-cli answer, and nothing of the host but the login is anywhere in reach", async () => {
    await using host = await createHostHome();
    const before = hashOf(host.database);
    const { kiro, session, sh } = await open(host);

    const { exit, stdout } = await kiro("[[say: hello from the sandbox]]");

    expect([exit.exitCode, stdout]).toEqual([0, expect.stringContaining("hello from the sandbox")]);
    expect(await sessionDatabase(session, "SELECT key FROM auth_kv ORDER BY 1")).toHaveLength(2);
    expect(
      await sessionDatabase(session, "SELECT key FROM state WHERE key NOT LIKE 'changelog.showCount' ORDER BY 1"),
    ).toEqual(["api.codewhisperer.profile", "auth.idc.region", "auth.idc.start-url"]);
    const { login, otherAgentSecret: _, ...others } = host.canaries;
    const search = await sh(
      `grep -rslE '${Object.values(others).join("|")}' /home /auth /workspace /tmp /etc /var /root`,
    );
    expect(search.stdout).toBe("");
    const found = await sh(`grep -rsl '${login}' /home /auth`);
    expect(found.stdout.trim().split("\n").toSorted()).toEqual([
      "/auth/data.sqlite3",
      "/home/agent/.local/share/kiro-cli/data.sqlite3",
    ]);
    expect(hashOf(host.database)).toEqual(before);
  });

  it("is a private file in the home, and one in /auth that cannot be changed", async () => {
    await using host = await createHostHome();
    const { kiro, sh } = await open(host);
    await kiro("x");

    const { stdout } = await sh(
      'stat -c "%a %u %n" /auth/data.sqlite3 "$HOME"/.local/share/kiro-cli/data.sqlite3; for act in "chmod 600 /auth/data.sqlite3" "touch /auth/new" "rm -f /auth/data.sqlite3"; do $act 2>/dev/null || echo no; done',
    );

    const uid = process.getuid?.() ?? 0;
    expect(stdout.trim().split("\n")).toEqual([
      `400 ${uid} /auth/data.sqlite3`,
      `600 ${uid} /home/agent/.local/share/kiro-cli/data.sqlite3`,
      "no",
      "no",
      "no",
    ]);
  });

  it("is the host's new one when that changes; the conversation goes on", async () => {
    await using host = await createHostHome();
    const { kiro, session } = await open(host);
    await kiro("remember token-one");
    changeHost(host, ROTATE);

    const { stdout } = await kiro("[[recall]]");

    expect(stdout).toContain("token-one");
    expect(await sessionDatabase(session, TOKEN)).toEqual([expect.stringContaining("-rotated")]);
  });

  it("stays the agent's own renewed one while the host's is the same", async () => {
    await using host = await createHostHome();
    changeHost(host, "UPDATE auth_kv SET value = replace(value, '2099', '2020')");
    const { kiro, session } = await open(host);
    await kiro("remember token-one");
    const renewed = await sessionDatabase(session, TOKEN);

    const { stdout } = await kiro("[[recall]]");

    expect(renewed).toEqual([expect.stringContaining("rotated-")]);
    expect(stdout).toContain("token-one");
    expect(
      await sessionDatabase(session, "SELECT value LIKE '%rotated-%' FROM auth_kv WHERE key LIKE '%:token'"),
    ).toEqual([1]);
    expect(readFileSync(host.database).includes("rotated-")).toBe(false);
  });

  it("is handed over to an agent that was killed with a log that is not played back", async () => {
    await using host = await createHostHome();
    const { kiro, session, sh } = await open(host);
    await kiro("remember token-one", { FAKE_KIRO_WAL: "1" });
    const killed = await kiro("remember token-two [[fault kill-self]]", { FAKE_KIRO_WAL: "1" });
    const hot = await sh('stat -c %s "$HOME/.local/share/kiro-cli/data.sqlite3-wal"');
    changeHost(host, ROTATE);

    const { stdout } = await kiro("[[recall]]");

    expect(killed.exit.signal).toBe("SIGKILL");
    expect(Number(hot.stdout)).toBeGreaterThan(0);
    expect(stdout).toContain("token-one");
    expect(await sessionDatabase(session, TOKEN)).toEqual([expect.stringContaining("-rotated")]);
  });

  it.each([
    [".local", 'rm -rf "$HOME/.local" && ln -s /workspace/leak "$HOME/.local"'],
    [".local/share", 'rm -rf "$HOME/.local/share" && ln -s /workspace/leak "$HOME/.local/share"'],
    ["kiro-cli", 'rm -rf "$HOME/.local/share/kiro-cli" && ln -s /workspace/leak "$HOME/.local/share/kiro-cli"'],
    ["a file in place of .local", 'rm -rf "$HOME/.local" && touch "$HOME/.local"'],
  ])("is not written through what the agent planted: %s", async (_, plant) => {
    await using host = await createHostHome();
    const { kiro, sh } = await open(host);
    await kiro("x");
    await sh(`mkdir -p leak/share/kiro-cli; ${plant}`);
    changeHost(host, ROTATE);

    await expect(kiro("x")).rejects.toMatchObject({
      code: "SESSION_UNUSABLE",
      message: expect.stringMatching(/\/home\/agent\/\.local.*Begin a new session/),
    });
    expect(readdirSync(join(directory, "leak"), { recursive: true }).toSorted()).toEqual(["share", "share/kiro-cli"]);
  });

  it.each([
    ["a link in place of the database", "ln -sf /workspace/leak data.sqlite3", undefined],
    ["a folder in place of the database", "rm data.sqlite3 && mkdir data.sqlite3", undefined],
    ["a fifo in place of the log", "mkfifo data.sqlite3-wal", undefined],
    ["a huge file beside the database", "truncate -s 200G other", undefined],
    ["a database of 300 MB", "truncate -s 300M data.sqlite3", "SESSION_UNUSABLE"],
    ["a log of 300 MB", "truncate -s 300M data.sqlite3-wal", "SESSION_UNUSABLE"],
  ])("is handed over or refused in bounded time in spite of %s", async (_, plant, code) => {
    await using host = await createHostHome();
    const { kiro, sh } = await open(host);
    await kiro("x");
    const planted = await sh(`cd "$HOME/.local/share/kiro-cli" && ${plant}`);
    changeHost(host, ROTATE);
    const started = performance.now();

    const outcome = await kiro("[[say: still here]]").then(
      ({ stdout }) => stdout,
      (error: { code?: string }) => error.code,
    );

    expect(planted.exit.exitCode).toBe(0);
    expect(outcome).toEqual(code ?? expect.stringContaining("still here"));
    expect(performance.now() - started).toBeLessThan(10_000);
    expect(readdirSync(directory)).toEqual([]);
  });
});

describe("without a login on the host", () => {
  it("a turn is refused with what to do, and leaves no container", async () => {
    await using host = await createHostHome({ login: false });
    const { kiro, session } = await open(host);

    await expect(kiro("x")).rejects.toMatchObject({ code: "LOGIN_REQUIRED" });

    const filters = { label: [`dev.budgie.session=${session.id}`, "dev.budgie.role=turn"] };
    expect(await (await testEngine()).listContainers({ all: true, filters })).toEqual([]);
  });

  it("an API key is enough, and is in no label and no argument", async () => {
    await using host = await createHostHome({ login: false });
    const { kiro } = await open(host);

    const { exit, stdout } = await kiro("[[say: hello]]", { KIRO_API_KEY: "ksk-canary" });

    expect([exit.exitCode, stdout]).toEqual([0, expect.stringContaining("hello")]);
  });
});

describe("the host's ~/.kiro", () => {
  it("is there as far as it was projected, read-only, in the home and at its own path", async () => {
    await using host = await createHostHome();
    const { runner } = await place.createRunner();
    const session = await runner.openSession(createSessionId());
    const at = (path: string) => [`/home/agent/${path}`, join(host.home, path)];

    const { stdout } = await runCommand(session, directory, {
      argv: [
        "sh",
        "-c",
        'for p; do if [ -e "$p" ]; then echo "$p"; touch "$p/new" 2>/dev/null && echo "wrote $p"; fi; done; touch "$HOME/.kiro/own" && echo own',
        "sh",
        ...[
          ".kiro/agents",
          ".kiro/steering",
          ".kiro/settings",
          ".kiro/settings/mcp.json",
          ".kiro/sub-agents",
          ".ssh",
          ".aws",
        ].flatMap(at),
      ],
      env: {},
      projections: [".kiro/agents", ".kiro/steering", ".kiro/missing"].map((home) => ({
        source: join(host.home, home),
        home,
      })),
    });

    expect(stdout.trim().split("\n").toSorted()).toEqual(
      [...at(".kiro/agents"), ...at(".kiro/steering"), "own"].toSorted(),
    );
    expect(readdirSync(join(host.home, ".kiro")).toSorted()).toEqual(["agents", "settings", "steering", "sub-agents"]);
  });
});

function hashOf(path: string): unknown {
  const { ino, mode, mtimeNs, size } = statSync(path, { bigint: true });
  return { ino, mode, mtimeNs, size, hash: createHash("sha256").update(readFileSync(path)).digest("hex") };
}
