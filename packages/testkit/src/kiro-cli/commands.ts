import { loadAgents, toAgentTable } from "./agent/agents.ts";
import { toUsageError } from "./arguments.ts";
import { loadAccount, type Account } from "./state/auth.ts";
import { openDatabase } from "./state/database.ts";
import { toExitError } from "./profile/exit-error.ts";
import { write } from "./output/output.ts";
import { databaseFile } from "./profile/paths.ts";
import type { Settings } from "./profile/settings.ts";

/** Runs `kiro-cli whoami`: refreshes an expired token, and exits with 1 without a login. */
export async function whoami(argv: readonly string[], settings: Settings): Promise<void> {
  const json = isJson(argv);
  const account = loadAccount(openDatabase(databaseFile(), settings));
  await write(process.stdout, `${json ? JSON.stringify(account ?? { account: null }) : toSentence(account)}\n`);
  if (account === undefined) throw toExitError(1, "");
}

function isJson(argv: readonly string[]): boolean {
  const text = argv.join(" ").replace("=", " ");
  if (text === "" || /^(?:-f|--format) plain$/.test(text)) return false;
  if (/^(?:-f|--format) json(?:-pretty)?$/.test(text)) return true;
  throw toUsageError(`unexpected argument '${argv[0]}' found`);
}

function toSentence(account: Account | undefined): string {
  if (account === undefined) return "Not logged in";
  const { accountType, startUrl } = account;
  return accountType === "BuilderId" ? "Logged in with Builder ID" : `Logged in with IAM Identity Center (${startUrl})`;
}

/** Runs `kiro-cli agent list`, which prints its table to stderr, as in Kiro. */
export async function agentCommand(argv: readonly string[], settings: Settings): Promise<void> {
  if (argv[0] !== "list" || argv.length > 1) throw toUsageError(`unrecognized subcommand '${argv.join(" ")}'`);
  openDatabase(databaseFile(), settings);
  const agents = loadAgents(settings);
  await write(process.stderr, `${[...agents.warnings, toAgentTable(agents)].join("\n")}\n`);
}
