import { recordCall } from "./record-call.ts";
import { toUsageError, type KiroArguments } from "./parse-arguments.ts";
import { serveAcp } from "./acp/serve-acp.ts";
import { answerV2 } from "./acp/answer-v2.ts";
import { answerV3 } from "./acp/answer-v3.ts";
import { toExitError } from "./profile/exit-error.ts";
import { databaseFile } from "./profile/kiro-folder.ts";
import type { Settings } from "./profile/settings.ts";
import { startV3 } from "./start-v3.ts";
import { findLogin } from "./state/find-login.ts";
import { countRun, openDatabase } from "./state/open-database.ts";

/** Runs `kiro-cli acp`. */
export async function acp(args: KiroArguments, settings: Settings): Promise<void> {
  if (args.input !== undefined) throw toUsageError(`unexpected argument '${args.input}' found`);
  if (settings.logFile) recordCall(settings.logFile, undefined);
  if (settings.harness === "v3") startV3(settings);
  const database = openDatabase(databaseFile(), settings);
  const loggedOut = LOGGED_OUT[findLogin(database, process.env)];
  // The real program's behaviour without a login is unknown, so one profile exits, and the others answer with an error.
  if (loggedOut !== undefined && settings.profile === "v2") throw toExitError(1, `error: ${loggedOut}`);
  countRun(database);
  const answer = settings.harness === "v3" ? answerV3 : answerV2;
  await serveAcp(answer, { ...args, settings, loggedOut });
}

const LOGGED_OUT: Readonly<Record<ReturnType<typeof findLogin>, string | undefined>> = {
  "api-key": undefined,
  token: undefined,
  none: "You are not logged in, please log in with kiro-cli login",
  "invalid-api-key": "Authentication failed. Your API key may be invalid or expired.",
};
