import { recordCall } from "./call-log.ts";
import { parseChatArguments, toUsageError } from "./arguments.ts";
import { serveAcp } from "./acp/serve-acp.ts";
import { toExitError } from "./profile/exit-error.ts";
import { databaseFile } from "./profile/paths.ts";
import type { Settings } from "./profile/settings.ts";
import { findLogin } from "./state/auth.ts";
import { countRun, openDatabase } from "./state/database.ts";

/** Runs `kiro-cli acp`, which the first engine does not have. */
export async function acp(argv: readonly string[], settings: Settings): Promise<void> {
  if (settings.profile === "q1") throw toUsageError("unrecognized subcommand 'acp'");
  const { agent, input, model, trust } = parseChatArguments(argv, settings.profile);
  if (input !== undefined) throw toUsageError(`unexpected argument '${input}' found`);
  if (settings.logFile) recordCall(settings.logFile, undefined);
  const database = openDatabase(databaseFile(), settings);
  const loggedOut = LOGGED_OUT[findLogin(database, process.env)];
  // The real program's behaviour without a login is unknown, so one profile exits, and the other answers with an error.
  if (loggedOut !== undefined && settings.profile === "v2text") throw toExitError(1, `error: ${loggedOut}`);
  countRun(database);
  await serveAcp({ agent, model, trust, settings, loggedOut });
}

const LOGGED_OUT: Readonly<Record<ReturnType<typeof findLogin>, string | undefined>> = {
  "api-key": undefined,
  token: undefined,
  none: "You are not logged in, please log in with kiro-cli login",
  "invalid-api-key": "Authentication failed. Your API key may be invalid or expired.",
};
