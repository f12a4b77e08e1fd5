import { readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isatty } from "node:tty";
import { loadAgents, pickAgent } from "./agent/load-agents.ts";
import type { V3Policy } from "./agent/decide-tool.ts";
import { runHooks } from "./agent/run-hooks.ts";
import type { KiroAgent } from "./agent/kiro-agent.ts";
import { startMcpServers } from "./agent/mcp-servers.ts";
import { loadUserRules } from "./agent/user-rules.ts";
import type { KiroArguments } from "./parse-arguments.ts";
import { recordCall } from "./record-call.ts";
import { write } from "./output/output.ts";
import { createTextOutput } from "./output/text-output.ts";
import { toExitError } from "./profile/exit-error.ts";
import { MODELS } from "./profile/models.ts";
import { databaseFile } from "./profile/kiro-folder.ts";
import type { Settings } from "./profile/settings.ts";
import { runShellEscape } from "./profile/run-shell.ts";
import { reply } from "./script/reply.ts";
import { startV3 } from "./start-v3.ts";
import { toSessionFiles } from "./state/session-files.ts";
import { findLogin } from "./state/find-login.ts";
import type { Conversation } from "./state/conversation.ts";
import { openConversations } from "./state/conversation-store.ts";
import { countRun, openDatabase, type KiroDatabase } from "./state/open-database.ts";

/** Runs `kiro-cli chat`: one prompt, one answer. */
export async function chat(args: KiroArguments, settings: Settings): Promise<void> {
  process.on("SIGINT", () => process.exit(1));
  if (settings.harness === "v3") startV3(settings);
  if (args.listSessions) return listSessions(settings);

  const stdin = args.input === undefined ? readStdin() : undefined;
  if (settings.logFile) recordCall(settings.logFile, stdin);
  const database = openDatabase(databaseFile(), settings);
  await requireLogin(database, settings);
  if (args.interactive) throw toExitError(2, "error: this stand-in only chats with --no-interactive");

  const prompt = (args.input ?? stdin ?? "").trim();
  if (prompt === "") throw toExitError(1, "error: Input must be supplied when running in non-interactive mode");
  countRun(database);
  await converse({ database, args, settings, prompt });
}

function readStdin(): string | undefined {
  return isatty(0) ? undefined : readFileSync(0, "utf8");
}

function listSessions({ harness }: Settings): Promise<void> {
  const ids = toSessionFiles(harness).list();
  return write(process.stdout, ids.map((id) => `${id}\n`).join(""));
}

async function requireLogin(database: KiroDatabase, settings: Settings): Promise<void> {
  switch (findLogin(database, process.env)) {
    case "api-key":
    case "token":
      return;
    case "invalid-api-key":
      throw toExitError(0, "Authentication failed. Your API key may be invalid or expired.");
    case "none":
      if (settings.profile === "q1") {
        throw toExitError(1, "error: You are not logged in, please log in with kiro-cli login");
      }
      await write(process.stdout, DEVICE_LOGIN);
      for (;;) await sleep(60_000);
  }
}

const DEVICE_LOGIN = "\nOpen this URL: https://device.sso.us-east-1.amazonaws.com/?user_code=FAKE-CODE\n";

type Chat = {
  readonly database: KiroDatabase;
  readonly args: KiroArguments;
  readonly settings: Settings;
  readonly prompt: string;
};

async function converse({ database, args, settings, prompt }: Chat): Promise<void> {
  const conversations = openConversations(database, settings);
  const conversation = conversations.load(args);
  const agent = await chooseAgent(args, conversation, settings);
  const model = pickModel(args, agent);
  const output = createTextOutput(settings);

  const servers = await startMcpServers(agent, settings);
  try {
    for (const line of servers.warnings) await write(process.stderr, `${line}\n`);
    if (settings.harness === "v2") await runHooks(agent, "agentSpawn");
    if (!(await isForModel(prompt))) return;
    if (settings.harness === "v2") await runHooks(agent, "userPromptSubmit");
    await write(process.stderr, `🤖 You are chatting with ${model}\n\n`);
    await reply({
      prompt,
      agent,
      model,
      policy: { trust: args.trust, v3: await loadPolicy(settings) },
      conversation,
      settings,
      output,
      connections: servers.connections,
      save: (answer) => {
        const history = [...conversation.history, { prompt, answer }];
        conversations.save({ id: conversation.id, agent: agent.name, model, history });
      },
    });
  } finally {
    await servers.stop();
  }
}

async function loadPolicy({ harness }: Settings): Promise<V3Policy | undefined> {
  return harness === "v3" ? { ...(await loadUserRules()), autopilot: false } : undefined;
}

/** Picks the agent of `--agent`. Later versions prefer the stored agent of a resumed conversation. */
async function chooseAgent(args: KiroArguments, stored: Conversation, settings: Settings): Promise<KiroAgent> {
  const set = await loadAgents(settings);
  const name = settings.traits.hasV3 ? (stored.agent ?? args.agent) : args.agent;
  const { agent, warning } = pickAgent(name, set, settings);
  for (const line of [...set.warnings, ...(warning === undefined ? [] : [warning])]) {
    await write(process.stderr, `${line}\n`);
  }
  return agent;
}

/** Picks the model of the flag, or the agent's. */
function pickModel({ model }: KiroArguments, agent: KiroAgent): string {
  if (model === undefined || MODELS.includes(model)) return model ?? agent.model ?? "auto";
  throw toExitError(1, `error: Model '${model}' does not exist. Available models: ${MODELS.join(", ")}`);
}

/** Checks a prompt's first character, as Kiro does before any model or permission. Returns false for one that is a command. */
async function isForModel(prompt: string): Promise<boolean> {
  if (!/^[!/@]/.test(prompt)) return true;
  if (!prompt.startsWith("!")) return false;
  const command = prompt.slice(1);
  // A mark for tests: no caller's text may ever run as a command.
  writeFileSync(join(homedir(), ".fake-kiro-shell-escape"), command);
  await runShellEscape(command);
  return false;
}
