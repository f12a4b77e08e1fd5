import { stat } from "node:fs/promises";
import { join } from "node:path";
import { reduceLogin } from "./access-token-login.ts";
import { DATABASE } from "./kiro-database.ts";
import { loadKiroLogin, type KiroLogin } from "./kiro-login.ts";
import type { LoginFacts } from "./login.ts";
import type { Credentials } from "../profile/credentials.ts";

/** Finds the part of Kiro's login that a sandbox would get; throws if there is none. `key` is the user's API key. */
export async function inspectKiroLogin(
  kiroDataDir: string,
  credentials: Credentials,
  key: string | undefined,
): Promise<LoginFacts> {
  switch (credentials) {
    case "none":
      return { from: "nothing" };
    case "api-key":
      if (!key) throw new Error("KIRO_API_KEY is not set");
      return { from: "variable" };
    case "full":
      return key ? { from: "variable" } : inspectDatabase(kiroDataDir, () => undefined);
    case "access-token":
      return inspectDatabase(kiroDataDir, (login) => reduceLogin(login, new Date()).expires);
  }
}

async function inspectDatabase(
  kiroDataDir: string,
  toExpiry: (login: KiroLogin) => Date | undefined,
): Promise<LoginFacts> {
  const login = await loadKiroLogin(kiroDataDir);
  if (login === undefined) throw new Error(`there is none in "${kiroDataDir}"; run "kiro-cli login"`);
  const { mtime } = await stat(join(kiroDataDir, DATABASE));
  return { from: "file", updated: mtime, expires: toExpiry(login) };
}
