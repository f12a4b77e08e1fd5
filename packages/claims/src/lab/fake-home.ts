import { randomUUID } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Projection } from "@budgie/core";
import { findAgentFiles, listSharedProjections } from "@budgie/protocols/kiro";
import { DATABASE } from "@budgie/sandbox/login";
import { loadSqlite } from "@budgie/store";

/** A fake home of a user, so that probes read nothing of the real user's. */
export type FakeHome = {
  readonly path: string;
  /** The project mounted as the workspace */
  readonly project: string;
  /** Another session's project beside it */
  readonly otherProject: string;
  readonly kiroDataDir: string;
  readonly agentsDir: string;
  readonly promptsDir: string;
  /** budgie's own state */
  readonly stateDir: string;
  /** The secrets in the login's rows */
  readonly login: { readonly access: string; readonly refresh: string; readonly registration: string };
  /** Unique strings, by their paths below the home */
  readonly canaries: Readonly<Record<SecretPath, string>>;
};

const SETTINGS = ".kiro/settings/mcp.json";

const SECRET_PATHS = [
  ".ssh/id_rsa",
  ".aws/credentials",
  ".netrc",
  ".gnupg/private-keys-v1.d/key",
  ".docker/config.json",
  ".config/gh/hosts.yml",
  ".config/autostart/agent.desktop",
  ".kube/config",
  ".codex/auth.json",
  ".claude/credentials.json",
  ".mozilla/firefox/default/logins.json",
  ".local/share/keyrings/login.keyring",
  SETTINGS,
  ".kiro/sessions/history.jsonl",
  ".kiro/agents/orchestrator.json",
  ".aws/sso/cache/kiro-mcp-oauth.json",
  ".local/share/kiro-cli/data.sqlite3",
  // Beside the home, because the path of a Unix socket is limited and temporary folders can be deep.
  "../own/secret.txt",
  "code/other/secret.txt",
] as const;

/** The path of a secret below the fake home. */
export type SecretPath = (typeof SECRET_PATHS)[number];

// The files that an agent's turn is shown.
const SHOWN: Readonly<Record<string, string>> = {
  ".kiro/agents/reviewer.json": '{ "name": "reviewer" }\n',
  ".kiro/steering/style.md": "Write short sentences.\n",
  ".kiro/notes/terms.md": "Say folder.\n",
  "code/app/readme.md": "A project.\n",
};

/** Creates the home. The caller owns it, like a real one, so that only the protections keep the agent from reading it. */
export async function createFakeHome(path: string): Promise<FakeHome> {
  const canary = (secret: string): string => `canary-${secret.replaceAll(/[^a-z]+/g, "-")}-${randomUUID()}`;
  const canaries = Object.fromEntries(SECRET_PATHS.map((secret) => [secret, canary(secret)])) as Record<
    SecretPath,
    string
  >;
  const kiroDataDir = join(path, ".local/share/kiro-cli");
  const database = join(kiroDataDir, DATABASE);
  for (const [name, content] of Object.entries({ ...SHOWN, ...canaries })) {
    const file = join(path, name);
    await mkdir(dirname(file), { recursive: true });
    const text = name === SETTINGS ? buildSettings(content) : content;
    if (file !== database) await writeFile(file, `${text}\n`, { mode: name in SHOWN ? 0o644 : 0o600 });
  }
  const login = { access: canary("access"), refresh: canary("refresh"), registration: canary("registration") };
  await fillDatabase(database, login, canaries[".local/share/kiro-cli/data.sqlite3"]);
  return {
    path,
    project: join(path, "code/app"),
    otherProject: join(path, "code/other"),
    kiroDataDir,
    agentsDir: join(path, ".kiro/agents"),
    promptsDir: join(path, ".kiro/sub-agents/prompts"),
    stateDir: join(path, "../own"),
    login,
    canaries,
  };
}

/** Returns the user's settings of MCP servers, which are read for every agent that has some. */
function buildSettings(secret: string): string {
  return JSON.stringify({ mcpServers: { own: { command: "own", env: { SECRET: secret } } } });
}

/** Returns the files of the home that a Kiro agent's turn is shown. */
export function listProjections({ agentsDir, path, promptsDir }: FakeHome): readonly Projection[] {
  const shared = listSharedProjections(path, promptsDir);
  // An agent file that names everything it can.
  const named = [".kiro/**", ...SECRET_PATHS].map((name) => {
    return { uri: `file://~/${name}`, path: `~/${name}`, of: "resources" } as const;
  });
  const agent = { name: "reviewer", file: join(agentsDir, "reviewer.json"), named };
  return [...shared, ...findAgentFiles(agent, { home: path, shared }).projections];
}

/** Renews the login like the user's own Kiro, so that the next turn of a session gets it again. */
export async function renewLogin({ kiroDataDir }: FakeHome): Promise<void> {
  const database = (await loadSqlite())(join(kiroDataDir, DATABASE), { readOnly: false });
  database.run("UPDATE auth_kv SET value = value || ' '");
  database.close();
}

/** Writes a fake login, and conversations of another project. One is deleted, but its bytes stay in the file. */
async function fillDatabase(file: string, login: FakeHome["login"], canary: string): Promise<void> {
  const database = (await loadSqlite())(file, { readOnly: false });
  database.exec(`
    PRAGMA secure_delete = OFF;
    CREATE TABLE auth_kv (key TEXT PRIMARY KEY, value TEXT);
    CREATE TABLE state (key TEXT PRIMARY KEY, value BLOB);
    CREATE TABLE conversations (key TEXT PRIMARY KEY, value TEXT);`);
  const token = { access_token: login.access, refresh_token: login.refresh, expires_at: "2099-01-01T00:00:00Z" };
  const registration = { client_id: "fake", client_secret: login.registration };
  database.run("INSERT INTO auth_kv VALUES (?, ?)", "kirocli:odic:token", JSON.stringify(token));
  database.run("INSERT INTO auth_kv VALUES (?, ?)", "kirocli:odic:device-registration", JSON.stringify(registration));
  database.run("INSERT INTO state VALUES (?, ?)", "telemetry.clientId", `state-${canary}`);
  database.run("INSERT INTO conversations VALUES (?, ?)", "/home/someone/other", `kept-${canary}`);
  database.run(
    "INSERT INTO conversations VALUES (?, ?)",
    "/home/someone/deleted",
    `deleted-${canary}-${"x".repeat(9000)}`,
  );
  database.run("DELETE FROM conversations WHERE key = ?", "/home/someone/deleted");
  database.close();
}
