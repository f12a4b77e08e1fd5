import { findToken } from "./state/find-login.ts";
import { openDatabase } from "./state/open-database.ts";
import { toExitError } from "./profile/exit-error.ts";
import { write } from "./output/output.ts";
import { databaseFile } from "./profile/kiro-folder.ts";
import type { Settings } from "./profile/settings.ts";

/** Runs `kiro-cli whoami`: refreshes an expired token, and exits with 1 without a login. */
export async function whoami(settings: Settings): Promise<void> {
  const token = findToken(openDatabase(databaseFile(), settings));
  if (token === undefined) throw toExitError(1, "Not logged in");
  await write(process.stdout, `Logged in with IAM Identity Center (${token.start_url})\n`);
}
