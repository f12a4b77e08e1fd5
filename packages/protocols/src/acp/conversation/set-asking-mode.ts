import { BudgieError } from "@budgie/core";
import { formatTitle } from "../answer/answer.ts";
import type { AcpProgram, PermissionPolicy } from "./acp-program.ts";
import type { Connection } from "./connection.ts";
import { setMode } from "./set-mode.ts";

/** A conversation's modes as its program lists them, unchecked. */
type Modes = { readonly currentModeId: string; readonly availableModes?: unknown } | null | undefined;

type Asking = {
  /** The agent's name, for messages */
  readonly agent: string;
  readonly permission: PermissionPolicy;
};

type AskingOptions = Pick<Asking, "agent"> & {
  readonly program: Pick<AcpProgram, "mode" | "permission">;
  /** The conversation's */
  readonly id: string;
  readonly modes: Modes;
  /** Returns the limit of the next request */
  readonly limitMs: () => number;
};

// Ids of Claude Code, Codex, Copilot CLI, Gemini CLI, goose and Qwen Code.
const UNASKING: ReadonlySet<string> = new Set([
  "acceptEdits",
  "auto",
  "auto-edit",
  "autoEdit",
  "autopilot",
  "bypassPermissions",
  "dontAsk",
  "full-access",
  "smart_approve",
  "yolo",
]);
const ASKING = ["default", "approve"];

/**
 * Has a program whose tools are to be denied ask for them: in some modes it asks for none, and would use them all. Throws `CONFIG_INVALID`
 * for one that cannot be held to it.
 */
export async function setAskingMode(connection: Connection, options: AskingOptions): Promise<void> {
  const { agent, id, limitMs, modes, program } = options;
  // A requested mode is the agent itself.
  const isFree = program.permission === "allow" || program.mode !== undefined;
  if (isFree || !modes || !UNASKING.has(modes.currentModeId)) return;
  const asking = listModes(modes.availableModes).find((mode) => ASKING.includes(mode));
  // The answer does not say whether the mode holds; a program that stays in its mode may say so in an update.
  let told = "";
  connection.onUpdate((update) => (told = parseMode(update) ?? told));
  const isSet =
    asking !== undefined &&
    (await setMode(connection, { id, limitMs, mode: asking }).finally(() => connection.onUpdate(undefined)));
  if (isSet && !UNASKING.has(told)) return;
  throw unheldError(agent, modes.currentModeId);
}

/** A turn's signal that is also aborted, with the error as its reason, once the program has left the modes in which it asks. */
export type ModeWatch = {
  readonly signal: AbortSignal;
  /** Returns the receiver of updates, which are not checked, with the watch before it. */
  readonly follow: (receive: (update: unknown) => void) => (update: unknown) => void;
  /** Throws the error if the program has left these modes. */
  readonly check: () => void;
};

/** Creates the watch of a turn. It watches only a program whose tools are to be denied. */
export function watchMode({
  agent,
  permission,
  signal,
}: Asking & { readonly signal: AbortSignal | undefined }): ModeWatch {
  const left = new AbortController();
  return {
    signal: signal === undefined ? left.signal : AbortSignal.any([signal, left.signal]),
    follow: (receive) => (update) => {
      const mode = permission === "deny" ? parseMode(update) : undefined;
      if (mode !== undefined && UNASKING.has(mode)) left.abort(unheldError(agent, mode));
      receive(update);
    },
    check: () => left.signal.throwIfAborted(),
  };
}

function unheldError(agent: string, mode: string): BudgieError {
  return new BudgieError(
    "CONFIG_INVALID",
    `The program of the agent "${agent}" is in its mode "${formatTitle(mode)}", in which it uses tools without asking, so "permission": "deny" ` +
      `would deny nothing. Have its settings begin in a mode that asks, or leave "permission" out and restrict the agent by its sandbox.`,
  );
}

/** Returns the mode that an update tells. */
function parseMode(params: unknown): string | undefined {
  const { currentModeId, sessionUpdate } = toRecord(toRecord(params)["update"]);
  return sessionUpdate === "current_mode_update" && typeof currentModeId === "string" ? currentModeId : undefined;
}

const MOST_MODES = 100;

function listModes(modes: unknown): readonly string[] {
  const listed: readonly unknown[] = Array.isArray(modes) ? modes.slice(0, MOST_MODES) : [];
  return listed.map((mode) => toRecord(mode)["id"]).filter((id) => typeof id === "string");
}

function toRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}
