import type { KiroAgent } from "./agent/kiro-agent.ts";
import type { KiroArguments } from "./arguments.ts";
import type { Conversation } from "./state/conversation-store.ts";
import { toExitError } from "./profile/exit-error.ts";
import { write } from "./output/output.ts";
import type { Settings } from "./profile/settings.ts";

type ModelChoice = {
  readonly args: KiroArguments;
  readonly agent: KiroAgent;
  readonly conversation: Conversation;
  readonly settings: Settings;
};

/** Picks the model of the flag or the agent; the first engine keeps the one of a resumed conversation. */
export async function pickModel({ args, agent, conversation, settings }: ModelChoice): Promise<string> {
  const { models, profile } = settings;
  if (profile === "q1" && conversation.model !== undefined) return conversation.model;
  if (args.model !== undefined && models.includes(args.model)) return args.model;
  if (args.model !== undefined) return refuseModel(args.model, args, models);
  if (agent.model === undefined || models.includes(agent.model)) return agent.model ?? "auto";
  await write(
    process.stderr,
    `WARNING: Agent specifies model '${agent.model}' which is not available. Falling back.\n`,
  );
  return "auto";
}

/** Handles an unknown model: text mode fails, stream-json warns and continues with another. */
async function refuseModel(model: string, args: KiroArguments, models: readonly string[]): Promise<string> {
  if (args.format === "text") {
    throw toExitError(1, `error: Model '${model}' does not exist. Available models: ${models.join(", ")}`);
  }
  await write(process.stderr, `failed to set model ${model}: Method not found\n`);
  return "auto";
}

/** Runs `chat --list-models`. */
export async function listModels(style: "plain" | "json", { models }: Settings): Promise<void> {
  const list = models.map((name) => ({
    model_name: name,
    model_id: name,
    description: `The stand-in's ${name}`,
    context_window_tokens: 200_000,
    rate_multiplier: 1,
    rate_unit: "credit",
  }));
  const json = JSON.stringify({ models: list, default_model: "auto" });
  await write(process.stdout, `${style === "json" ? json : models.join("\n")}\n`);
}
