import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { toExitError } from "../profile/exit-error.ts";
import { FAULTS, LATE_FAULTS } from "./faults.ts";
import { resolveFrom } from "../profile/kiro-folder.ts";
import type { Directive } from "./script.ts";
import { runShell } from "../profile/run-shell.ts";
import type { ToolCall } from "../agent/tool-call.ts";
import type { Stage } from "./stage.ts";
import type { Turn } from "./turn.ts";

/** The context of a directive. */
export type Scene = { readonly stage: Stage; readonly turn: Turn; readonly workspace: string };

type Act = (scene: Scene, directive: Directive) => void | Promise<void>;

const DIRECTIVES: Readonly<Record<string, Act>> = {
  say: ({ stage }, { text }) => stage.say(text),
  write: (scene, directive) => changeFile(scene, directive, writeFileSync),
  append: (scene, directive) => changeFile(scene, directive, appendFileSync),
  read: readOneFile,
  run: runCommand,
  tool: useNamedTool,
  recall: ({ stage, turn }) => stage.say(toRecollection(turn)),
  env: ({ stage }) => stage.say(JSON.stringify(process.env)),
  status: ({ stage, turn }) => stage.say(JSON.stringify(toStatus(turn))),
  sleep: pause,
  fault: (scene, { argument }) => runFault(scene, argument, "in-place"),
  "fault-once": faultOnce,
  // These take effect when the answer is delivered.
  "ignore-response-file": () => undefined,
  "never-write": () => undefined,
};

/** Runs a directive. The answer names an unknown one, so that a typo does not pass silently. */
export async function runDirective(scene: Scene, directive: Directive): Promise<void> {
  const act = DIRECTIVES[directive.name];
  if (act === undefined) return scene.stage.say(`There is no directive "${directive.name}".`);
  await act(scene, directive);
}

/** Runs a fault, given as `NAME` or `NAME AMOUNT`, if it belongs to this stage. */
export async function runFault({ stage, turn }: Scene, argument: string, at: "in-place" | "end"): Promise<void> {
  const [name = "", amount] = argument.split(/\s+/);
  const fault = FAULTS[name];
  if (fault === undefined) throw toExitError(2, `There is no fault "${name}".`);
  if (LATE_FAULTS.has(name) !== (at === "end")) return;
  await stage.flush();
  await fault({ output: turn.output, amount: Number(amount), say: stage.say });
}

/** Runs a fault once in the life of a home, so that a retry can succeed. */
async function faultOnce(scene: Scene, { argument }: Directive): Promise<void> {
  const marker = join(homedir(), `.fake-kiro-once-${argument.replace(/\W+/g, "-")}`);
  if (existsSync(marker)) return;
  writeFileSync(marker, "");
  await runFault(scene, argument, "in-place");
}

type Change = (path: string, text: string) => void;

async function changeFile({ stage, workspace }: Scene, directive: Directive, change: Change): Promise<void> {
  const path = resolveFrom(workspace, directive.argument);
  const call: ToolCall = { name: "fs_write", path, input: { path, text: directive.text } };
  await orExcuse(stage, call, () => {
    mkdirSync(dirname(path), { recursive: true });
    change(path, directive.text);
    return "";
  });
}

async function readOneFile({ stage, workspace }: Scene, { argument }: Directive): Promise<void> {
  const path = resolveFrom(workspace, argument);
  const call: ToolCall = { name: "fs_read", path, input: { path } };
  const text = await orExcuse(stage, call, () => readFileSync(path, "utf8"));
  if (text !== undefined) stage.say(text);
}

async function runCommand({ stage, workspace }: Scene, { text }: Directive): Promise<void> {
  const call: ToolCall = { name: "execute_bash", path: undefined, input: { command: text } };
  const printed = await orExcuse(stage, call, () => runShell(text, workspace));
  if (printed !== undefined) stage.say(printed);
}

/** Uses a tool without an effect, or calls one of a server with an address; the directive's text is its arguments. */
async function useNamedTool({ stage, turn }: Scene, { argument, text }: Directive): Promise<void> {
  const call: ToolCall = { name: argument, path: undefined, input: {} };
  const [, server = "", tool = ""] = /^@([^/]+)\/(.+)$/.exec(argument) ?? [];
  const connection = turn.connections.get(server);
  if (connection === undefined) return void (await orExcuse(stage, call, () => ""));
  if (!connection.tools.includes(tool)) return stage.say(`I have no tool ${argument}.`);
  const result = await orExcuse(stage, call, () => connection.call(tool, JSON.parse(text || "{}")));
  if (result !== undefined) stage.say(result);
}

/** Calls a tool. If that is denied or fails, the answer says so, like a model's. */
async function orExcuse(
  stage: Stage,
  call: ToolCall,
  work: () => string | Promise<string>,
): Promise<string | undefined> {
  const { outcome, result } = await stage.useTool(call, work);
  if (outcome === "done") return result;
  const excuses = {
    failed: `${call.name} failed: ${result}`,
    denied: `I was not allowed to use ${call.name}.`,
    missing: `I have no tool ${call.name}.`,
  };
  stage.say(excuses[outcome]);
  return undefined;
}

async function pause({ stage }: Scene, { argument }: Directive): Promise<void> {
  await stage.flush();
  await sleep(Number(argument));
}

function toRecollection({ conversation }: Turn): string {
  const tokens = conversation.history.flatMap(({ prompt }) => prompt.match(/\btoken-\w+/g) ?? []);
  return tokens.length === 0 ? "I remember nothing." : [...new Set(tokens)].join(" ");
}

function toStatus({ agent, conversation, model }: Turn) {
  return { agent: agent.name, model, turn: conversation.history.length + 1 };
}
