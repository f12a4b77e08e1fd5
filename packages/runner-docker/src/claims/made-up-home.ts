import { randomUUID } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Projection } from "@budgie/core";
import { DATABASE } from "../kiro-login.ts";
import { loadSqlite } from "@budgie/store";

/** A user's home, made up: nothing of the real user's is read for a probe. */
export type MadeUpHome = {
  readonly path: string;
  /** The project that the sandbox is given */
  readonly project: string;
  /** One beside it, of another session's */
  readonly otherProject: string;
  readonly kiroDataDir: string;
  /** Strings that occur nowhere else, by their paths below the home */
  readonly canaries: Readonly<Record<SecretPath, string>>;
};

const SECRET_PATHS = [
  ".ssh/id_rsa",
  ".aws/credentials",
  ".netrc",
  ".gnupg/private-keys-v1.d/key",
  ".docker/config.json",
  ".kiro/settings/mcp.json",
  ".kiro/sessions/history.jsonl",
  ".kiro/agents/orchestrator.json",
  ".aws/sso/cache/kiro-mcp-oauth.json",
  ".local/share/kiro-cli/data.sqlite3",
  "code/other/secret.txt",
] as const;

type SecretPath = (typeof SECRET_PATHS)[number];

// What the agent's turn is shown.
const SHOWN: Readonly<Record<string, string>> = {
  ".kiro/agents/reviewer.json": '{ "name": "reviewer" }\n',
  ".kiro/steering/style.md": "Write short sentences.\n",
  "code/app/readme.md": "A project.\n",
};

/** Makes the home. It belongs to the caller, as the real one does, so that only walls keep the agent from reading it. */
export async function createMadeUpHome(path: string): Promise<MadeUpHome> {
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
    if (file !== database) await writeFile(file, `${content}\n`, { mode: name in SHOWN ? 0o644 : 0o600 });
  }
  await fillDatabase(database, canaries[".local/share/kiro-cli/data.sqlite3"]);
  return { path, project: join(path, "code/app"), otherProject: join(path, "code/other"), kiroDataDir, canaries };
}

/** What of the home an agent's turn is shown, as Kiro's is. */
export function toProjections({ path }: MadeUpHome): readonly Projection[] {
  return [".kiro/agents/reviewer.json", ".kiro/steering"].map((home) => ({ source: join(path, home), home }));
}

/** A login that no server knows, and a conversation of another project. */
async function fillDatabase(file: string, canary: string): Promise<void> {
  const database = (await loadSqlite())(file, { readOnly: false });
  database.exec(`
    CREATE TABLE auth_kv (key TEXT PRIMARY KEY, value TEXT);
    CREATE TABLE state (key TEXT PRIMARY KEY, value BLOB);
    CREATE TABLE conversations (key TEXT PRIMARY KEY, value TEXT);`);
  const token = { access_token: "made-up", refresh_token: "made-up", expires_at: "2099-01-01T00:00:00Z" };
  database.run("INSERT INTO auth_kv VALUES (?, ?)", "kirocli:odic:token", JSON.stringify(token));
  database.run("INSERT INTO conversations VALUES (?, ?)", "/home/someone/other", canary);
  database.close();
}
