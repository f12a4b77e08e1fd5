import { writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { loadAgents, pickAgent } from "./agent/agents.ts";
import { parseArguments, type KiroArguments } from "./arguments.ts";
import { findLogin } from "./state/auth.ts";
import { recordCall } from "./call-log.ts";
import { loadConversation, saveConversation, type Conversation } from "./state/conversation-store.ts";
import { countRun, openDatabase, type KiroDatabase } from "./state/database.ts";
import { toExitError } from "./profile/exit-error.ts";
import { runHooks } from "./agent/hooks.ts";
import type { KiroAgent } from "./agent/kiro-agent.ts";
import { createJsonOutput } from "./output/json-output.ts";
import { startMcpServers } from "./agent/mcp-servers.ts";
import { listModels, pickModel } from "./models.ts";
import { write } from "./output/output.ts";
import { databaseFile } from "./profile/paths.ts";
import { interpretPrompt, readPrompt, requirePrompt } from "./prompt.ts";
import { reply } from "./script/reply.ts";
import type { Settings } from "./profile/settings.ts";
import { runShellEscape } from "./profile/shell.ts";
import { createTextOutput } from "./output/text-output.ts";
import { printHelp } from "./help.ts";

/** Runs `kiro-cli chat`: one prompt, one answer. */
export async function chat(argv: readonly string[], given: Settings): Promise<void> {
  const args = parseArguments("chat", argv, given.profile);
  const settings = { ...given, harness: args.harness };
  if (args.help) return printHelp(settings.profile);
  dieOnInterrupt(settings);

  const source = readPrompt(args.input);
  if (settings.logFile) recordCall(settings.logFile, source.stdin);
  const database = openDatabase(databaseFile(), settings);
  await requireLogin(database, args, settings);
  if (args.listModels !== "no") return listModels(args.listModels, settings);
  if (args.interactive) throw toExitError(2, "error: this stand-in only chats with --no-interactive");

  if (args.verbose) await write(process.stdout, `${new Date().toISOString()} INFO chat_cli::cli: starting\n`);
  const prompt = requirePrompt(source);
  countRun(database);
  await converse({ database, args, settings, prompt });
}

/** Handles an interrupt: the first engine exits with 0, the second does not. */
function dieOnInterrupt({ profile }: Settings): void {
  process.on("SIGINT", () => process.exit(profile === "q1" ? 0 : 1));
}

async function requireLogin(database: KiroDatabase, args: KiroArguments, settings: Settings): Promise<void> {
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
      await write(args.format === "text" ? process.stdout : process.stderr, DEVICE_LOGIN);
      for (;;) await sleep(60_000);
  }
}

const DEVICE_LOGIN = `
Confirm the following code in the browser
Code: FAKE-CODE

Open this URL: https://device.sso.us-east-1.amazonaws.com/?user_code=FAKE-CODE
Logging in...
`;

type Chat = {
  readonly database: KiroDatabase;
  readonly args: KiroArguments;
  readonly settings: Settings;
  readonly prompt: string;
};

async function converse({ database, args, settings, prompt }: Chat): Promise<void> {
  const conversation = loadConversation(database, settings.profile, args);
  const agent = await chooseAgent(args, conversation, settings);
  const model = await pickModel({ args, agent, conversation, settings });
  const options = { profile: settings.profile, model, sessionId: conversation.id, trustAll: args.trust.all };
  const output = args.format === "text" ? createTextOutput(options) : createJsonOutput(options);

  const servers = await startMcpServers(agent, settings);
  try {
    for (const line of servers.warnings) await write(process.stderr, `${line}\n`);
    await runHooks(agent, "agentSpawn", undefined);
    const text = await interpret(prompt);
    if (text === undefined) return;
    await runHooks(agent, "userPromptSubmit", text);
    await output.begin();
    await reply({
      prompt: text,
      agent,
      model,
      policy: { trust: args.trust, v3: settings.harness === "v3" ? { rules: [], autopilot: false } : undefined },
      conversation,
      settings,
      output,
      connections: servers.connections,
      save: (answer) => {
        const history = [...conversation.history, { prompt: text, answer }];
        saveConversation(database, settings.profile, { id: conversation.id, agent: agent.name, model, history });
      },
    });
  } finally {
    await servers.stop();
  }
}

/** Picks the agent of `--agent`; the first engine prefers the stored agent of a resumed conversation. */
async function chooseAgent(args: KiroArguments, stored: Conversation, settings: Settings): Promise<KiroAgent> {
  const set = loadAgents(settings);
  const name = settings.profile === "q1" ? (stored.agent ?? args.agent) : args.agent;
  const deprecation = args.deprecatedProfile ? ["WARNING: --profile is deprecated, use --agent instead"] : [];
  const { agent, warning } = pickAgent(name, set, settings);
  for (const line of [...deprecation, ...set.warnings, ...(warning === undefined ? [] : [warning])]) {
    await write(process.stderr, `${line}\n`);
  }
  return agent;
}

/** Returns the prompt for the model, or handles the command that its first character selects. */
async function interpret(prompt: string): Promise<string | undefined> {
  const meaning = interpretPrompt(prompt);
  switch (meaning.kind) {
    case "model":
      return meaning.text;
    case "shell":
      // A mark for tests: no caller's text may ever run as a command.
      writeFileSync(join(homedir(), ".fake-kiro-shell-escape"), meaning.command);
      await runShellEscape(meaning.command);
      return undefined;
    case "slash":
      await write(process.stderr, `Slash command: /${meaning.command}\n`);
      return undefined;
    case "lookup":
      await write(process.stderr, `Prompt '${meaning.name}' not found. Use /prompts list to see available prompts.\n`);
      return undefined;
  }
}
