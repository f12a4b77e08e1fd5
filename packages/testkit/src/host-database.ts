import type { Canaries } from "./canaries.ts";
import type { Conversation } from "./kiro-cli/state/conversation.ts";
import { openDatabase, type KiroDatabase } from "./kiro-cli/state/open-database.ts";

/** Creates a Kiro user's `data.sqlite3`, and returns a function that closes it if `wal` kept it open. */
export function createHostDatabase(file: string, canaries: Canaries, options: HostDatabaseOptions): () => void {
  const database = openDatabase(file, { wal: options.wal });
  // One wait for the disk instead of twelve.
  database.transaction(() => {
    fillState(database, canaries);
    fillConversations(database, canaries);
    if (options.login) fillLogin(database, canaries);
  })();
  if (!options.wal) database.close();
  // Closing the last connection merges the -wal file, so this one stays open.
  return () => database.close();
}

export type HostDatabaseOptions = { readonly login: boolean; readonly wal: boolean };

/** Inserts the login rows of an Identity Center user, which are valid for years and need no network. */
function fillLogin(database: KiroDatabase, canaries: Canaries): void {
  const common = { region: "us-east-1", oauth_flow: "DeviceCode", scopes: ["codewhisperer:completions"] };
  insert(database, "auth_kv", {
    "kirocli:odic:token": JSON.stringify({
      ...common,
      access_token: `${canaries.login}-access`,
      refresh_token: `${canaries.login}-refresh`,
      expires_at: "2099-01-01T00:00:00Z",
      start_url: START_URL,
    }),
    "kirocli:odic:device-registration": JSON.stringify({
      ...common,
      client_id: "client",
      client_secret: `${canaries.login}-secret`,
      client_secret_expires_at: "2099-01-01T00:00:00Z",
    }),
  });
}

const START_URL = "https://example.awsapps.com/start";

function fillState(database: KiroDatabase, canaries: Canaries): void {
  const arn = "arn:aws:codewhisperer:us-east-1:123456789012:profile/EXAMPLE";
  insert(database, "state", {
    "api.codewhisperer.profile": JSON.stringify({ arn, profile_name: "example" }),
    "auth.idc.start-url": JSON.stringify(START_URL),
    "auth.idc.region": JSON.stringify("us-east-1"),
    telemetryClientId: JSON.stringify(`${canaries.state}-telemetry`),
    "telemetry-cognito-credentials": JSON.stringify({ secret_key: `${canaries.state}-cognito` }),
    "changelog.lastVersion": JSON.stringify("2.12.0"),
  });
}

function fillConversations(database: KiroDatabase, canaries: Canaries): void {
  const sql = "INSERT INTO history (command, shell, session_id, cwd, hostname, exit_code) VALUES (?, ?, ?, ?, ?, ?)";
  database.prepare(sql).run(`curl -H ${canaries.history}`, "bash", "s1", "/home/someone/secret-project", "host", 0);
  const value = toConversation(canaries.conversation);
  insert(database, "conversations", { "/home/someone/secret-project": value });
  const newer =
    "INSERT INTO conversations_v2 (key, conversation_id, value, created_at, updated_at) VALUES (?, ?, ?, 1, 2)";
  database.prepare(newer).run("/home/someone/secret-project", ID, value);
  // The working directory of a sandbox, where a leaked row would be resumed.
  database.prepare(newer).run("/workspace", ID, value);
}

/** Returns a conversation as the stand-in stores it, which the real program does with more fields. */
function toConversation(prompt: string): string {
  const conversation: Conversation = {
    id: ID,
    agent: "orchestrator",
    model: "auto",
    history: [{ prompt, answer: "Noted." }],
  };
  return JSON.stringify(conversation);
}

const ID = "11111111-2222-4333-8444-555555555555";

function insert(
  database: KiroDatabase,
  table: "auth_kv" | "state" | "conversations",
  rows: Readonly<Record<string, string>>,
): void {
  const statement = database.prepare(`INSERT INTO ${table} (key, value) VALUES (?, ?)`);
  for (const [key, value] of Object.entries(rows)) statement.run(key, value);
}
