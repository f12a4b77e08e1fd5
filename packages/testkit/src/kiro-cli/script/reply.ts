import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Conversation } from "../state/conversation.ts";
import { runDirective, runFault, type Scene } from "./run-directive.ts";
import { hasDirective, parseScript, type Script } from "./script.ts";
import { createStage } from "./stage.ts";
import type { Turn } from "./turn.ts";

/** Runs the scripted model: it runs the prompt's directives, delivers its answer, and remembers the turn. */
export async function reply(turn: Turn): Promise<void> {
  const script = parseScript(turn.prompt);
  const stage = createStage(turn);
  const scene: Scene = { stage, turn, workspace: script.workspace };

  for (const directive of script.directives) await runDirective(scene, directive);
  if (stage.answer() === "" && !hasDirective(script, "say")) stage.say(toDefaultAnswer(script, turn));
  await handIn(scene, script);
  await stage.conclude();
  turn.save(stage.answer());

  for (const { name, argument } of script.directives) if (name === "fault") await runFault(scene, argument, "end");
  await turn.output.finish();
}

/** Returns the answer without a script: the caller's words, or the previous answer on request. */
function toDefaultAnswer({ repeats, words }: Script, { conversation }: Turn): string {
  if (!repeats) return words === "" ? "Done." : `You asked: ${words}`;
  return previous(conversation)?.answer ?? "I have no previous response.";
}

/** Returns the last turn that was not a request to repeat. */
function previous({ history }: Conversation) {
  return history.findLast(({ prompt }) => !parseScript(prompt).repeats);
}

/** Writes the answer to the file that the prompt names, like a well-behaved agent. */
async function handIn({ stage, turn }: Scene, script: Script): Promise<void> {
  if (script.responseFile === undefined || refusesToWrite(script, turn)) return;
  const path = resolve(script.responseFile);
  const text = stage.answer();
  await stage.useTool({ name: "fs_write", path, input: { path, text } }, () => {
    writeFileSync(path, text);
    return "";
  });
}

function refusesToWrite(script: Script, { conversation }: Turn): boolean {
  if (hasDirective(script, "ignore-response-file") || hasDirective(script, "never-write")) return true;
  if (!script.repeats) return false;
  const last = previous(conversation);
  return last === undefined || hasDirective(parseScript(last.prompt), "never-write");
}
