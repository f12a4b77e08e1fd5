import { join } from "node:path";
import { parse as parseToml } from "smol-toml";
import { CLIENTS, type ClientName, type Scope } from "../../../src/commands/install/clients.ts";
import type { InstallUser } from "./create-install-user.ts";

/** Returns a client's file for a scope. */
export function toFile(user: InstallUser, client: ClientName, scope: Scope): string {
  if (scope === "project") return join(user.project, CLIENTS[client].projectFile);
  return CLIENTS[client].toUserFile({ env: {}, home: user.home, platform: process.platform });
}

/** Returns the entry of a server in a client's file. */
export function toServer(
  user: InstallUser,
  client: ClientName,
  scope: Scope = "user",
): Record<string, unknown> | undefined {
  const text = user.read(toFile(user, client, scope));
  const content = (client === "codex" ? parseToml(text) : JSON.parse(text)) as Record<string, Record<string, never>>;
  return content[CLIENTS[client].servers]?.["kiro-subagents"];
}

/** A secret of another server in a user's existing settings. */
export const SECRET = "sk-of-a-neighbour";

const THEIRS: Readonly<Record<"json" | "toml", string>> = {
  json: `{\n  // mine\n  "SERVERS": {\n    "other": { "command": "x", "env": { "KEY": "${SECRET}" } }\n  },\n  "theme": "dark"\n}`,
  toml: `# mine\nmodel = "gpt"\n\n[SERVERS.other]\ncommand = "x"\nenv = { KEY = "${SECRET}" }`,
};

/** Writes the settings of an existing user of the client, and returns the file. */
export function writeTheirs(user: InstallUser, client: ClientName, scope: Scope = "user"): string {
  const { format, servers } = CLIENTS[client];
  user.write(toFile(user, client, scope), THEIRS[format].replace("SERVERS", servers), 0o640);
  return toFile(user, client, scope);
}
