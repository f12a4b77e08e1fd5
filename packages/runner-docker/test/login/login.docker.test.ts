import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { createSessionId } from "@budgie/core";
import { createHostHome, type HostHome } from "@budgie/testkit";
import { createDockerPlace, runCommand, testEngine } from "../helpers/docker-place.ts";
import { changeHost, openKiroSession, ROTATE } from "../sandbox/kiro-session.ts";

const place = createDockerPlace();
afterAll(() => place[Symbol.asyncDispose]());

let count = 0;
let directory: string;
beforeEach(() => mkdirSync((directory = join(place.root, `workspace-${count++}`))));

const open = (host: HostHome) => openKiroSession(place, host, directory);

const TOKEN = "SELECT value FROM auth_kv WHERE key LIKE '%:token'";

describe("the login in a session", () => {
  it("lets kiro-cli answer, and no other data of the host is accessible", async () => {
    await using host = await createHostHome();
    const before = hashOf(host.database);
    const { kiro, query, sh } = await open(host);

    const { exit, stdout } = await kiro("[[say: hello from the sandbox]]");

    expect([exit.exitCode, stdout]).toEqual([0, expect.stringContaining("hello from the sandbox")]);
    expect(await query("SELECT key FROM auth_kv ORDER BY 1")).toHaveLength(2);
    expect(await query("SELECT key FROM state WHERE key NOT LIKE 'changelog.showCount' ORDER BY 1")).toEqual([
      "api.codewhisperer.profile",
      "auth.idc.region",
      "auth.idc.start-url",
    ]);
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

  it("is replaced when the host's changes, and the conversation is kept", async () => {
    await using host = await createHostHome();
    const { kiro, query } = await open(host);
    await kiro("remember token-one");
    changeHost(host, ROTATE);

    const { stdout } = await kiro("[[recall]]");

    expect(stdout).toContain("token-one");
    expect(await query(TOKEN)).toEqual([expect.stringContaining("-rotated")]);
  });

  it("stays the agent's renewed one while the host's is unchanged", async () => {
    await using host = await createHostHome();
    changeHost(host, "UPDATE auth_kv SET value = replace(value, '2099', '2020')");
    const { kiro, query } = await open(host);
    await kiro("remember token-one");
    const renewed = await query(TOKEN);

    const { stdout } = await kiro("[[recall]]");

    expect(renewed).toEqual([expect.stringContaining("rotated-")]);
    expect(stdout).toContain("token-one");
    expect(await query(TOKEN)).toEqual(renewed);
    expect(readFileSync(host.database).includes("rotated-")).toBe(false);
  });

  it("is written for an agent that was killed with an unreplayed log", async () => {
    await using host = await createHostHome();
    const { kiro, query, sh } = await open(host);
    await kiro("remember token-one", { FAKE_KIRO_WAL: "1" });
    const killed = await kiro("remember token-two [[fault kill-self]]", { FAKE_KIRO_WAL: "1" });
    const hot = await sh('stat -c %s "$HOME/.local/share/kiro-cli/data.sqlite3-wal"');
    changeHost(host, ROTATE);

    const { stdout } = await kiro("[[recall]]");

    expect(killed.exit.signal).toBe("SIGKILL");
    expect(Number(hot.stdout)).toBeGreaterThan(0);
    expect(stdout).toContain("token-one");
    expect(await query(TOKEN)).toEqual([expect.stringContaining("-rotated")]);
  });
});

describe("without a login on the host", () => {
  it("a turn is refused with what to do, and leaves no container", async () => {
    await using host = await createHostHome({ login: false });
    const { kiro, session } = await open(host);

    await expect(kiro("x")).rejects.toMatchObject({ code: "LOGIN_REQUIRED" });
    await expect(kiro("x", { KIRO_API_KEY: "" })).rejects.toMatchObject({ code: "LOGIN_REQUIRED" });

    const filters = { label: [`dev.budgie.session=${session.id}`, "dev.budgie.role=turn"] };
    expect(await (await testEngine()).listContainers({ all: true, filters })).toEqual([]);
  });

  it("a turn is refused by a runner that was given none, also with an API key", async () => {
    const { runner } = await place.createRunner({ login: undefined });
    const session = await runner.openSession(createSessionId());
    const command = { argv: ["true"], projections: [], login: "kiro", env: { KIRO_API_KEY: "ksk-canary" } } as const;

    await expect(runCommand(session, command, { directory })).rejects.toMatchObject({
      code: "LOGIN_REQUIRED",
      message: expect.stringMatching(/"kiro".*option "login"/),
    });
  });

  it("an API key is enough", async () => {
    await using host = await createHostHome({ login: false });
    const { kiro } = await open(host);

    const { exit, stdout } = await kiro("[[say: hello]]", { KIRO_API_KEY: "ksk-canary" });

    expect([exit.exitCode, stdout]).toEqual([0, expect.stringContaining("hello")]);
  });
});

describe("the host's ~/.kiro", () => {
  it("has its projected files, read-only, in the home and at its own path", async () => {
    await using host = await createHostHome();
    const { runner } = await place.createRunner();
    const session = await runner.openSession(createSessionId());
    const at = (path: string) => [`/home/agent/${path}`, join(host.home, path)];

    const { stdout } = await runCommand(
      session,
      {
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
      },
      { directory },
    );

    expect(stdout.trim().split("\n").toSorted()).toEqual(
      [...at(".kiro/agents"), ...at(".kiro/steering"), "own"].toSorted(),
    );
    expect(readdirSync(join(host.home, ".kiro")).toSorted()).toEqual(["agents", "settings", "steering", "sub-agents"]);
  });

  it("may be a symlink, as dotfile managers create it", async () => {
    await using host = await createHostHome();
    symlinkSync(host.agentsDir, join(host.home, "linked"));
    const { runner } = await place.createRunner();
    const session = await runner.openSession(createSessionId());

    const { stdout } = await runCommand(
      session,
      {
        argv: ["sh", "-c", 'ls "$1" "$HOME/.kiro/agents" | grep -c code-reviewer', "sh", join(host.home, "linked")],
        env: {},
        projections: [{ source: join(host.home, "linked"), home: ".kiro/agents" }],
      },
      { directory },
    );

    expect(stdout).toBe("2\n");
  });
});

function hashOf(path: string): unknown {
  const { ino, mode, mtimeNs, size } = statSync(path, { bigint: true });
  return { ino, mode, mtimeNs, size, hash: createHash("sha256").update(readFileSync(path)).digest("hex") };
}
