import type { ProgressToken, ServerNotification } from "@modelcontextprotocol/sdk/types.js";
import type { TurnProgress } from "@budgie/core";

/** Passes on where a call's turn is. */
export type Progress = {
  /** `undefined` when the client did not ask */
  readonly onProgress: ((progress: TurnProgress) => void) | undefined;
  /** After this nothing more is sent */
  readonly end: () => void;
};

export type ProgressOptions = {
  /** What the client wants to be told by */
  readonly token: ProgressToken | undefined;
  readonly send: (notification: ServerNotification) => Promise<void>;
  /** Whether more would only wait in memory */
  readonly isFull: () => boolean;
};

/** Creates what tells a client of a call; it waits for nobody, and what does not fit into the pipe at once is left out. */
export function createProgress({ isFull, send, token }: ProgressOptions): Progress {
  let isOver = false;
  let progress = 0;
  let told = "";

  function onProgress(turn: TurnProgress): void {
    // A client that does not read would have all of it kept for it.
    if (isOver || token === undefined || isFull()) return;
    const message = toProgressText(turn);
    if (message === told) return;
    told = message;
    progress++;
    const params = { progressToken: token, progress, message };
    // Who went away needs no progress, and is noticed elsewhere.
    send({ method: "notifications/progress", params }).catch(() => undefined);
  }

  return { onProgress: token === undefined ? undefined : onProgress, end: () => void (isOver = true) };
}

const ORDINAL = new Intl.PluralRules("en-US", { type: "ordinal" });
const ENDINGS: Partial<Record<Intl.LDMLPluralRule, string>> = { one: "st", two: "nd", few: "rd" };

function toProgressText(turn: TurnProgress): string {
  if (turn.phase !== "waiting") return `${turn.agent}: ${turn.phase}`;
  return `${turn.agent}: waiting, ${turn.position}${ENDINGS[ORDINAL.select(turn.position)] ?? "th"} in line`;
}
