import type { ProgressToken, ServerNotification } from "@modelcontextprotocol/sdk/types.js";
import { toDurationText, type TurnProgress } from "@budgie/core";

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
  /** How often to tell of a call that only goes on */
  readonly heartbeatMs: number;
};

/**
 * Creates what tells a client of a call, whenever something changes and again and again in between; it waits for nobody, and
 * what does not fit into the pipe at once is left out.
 */
export function createProgress({ heartbeatMs, isFull, send, token }: ProgressOptions): Progress {
  if (token === undefined) return { onProgress: undefined, end: () => undefined };
  const progressToken = token;
  let isEnded = false;
  let progress = 0;
  let latest: TurnProgress | undefined;
  const beating = setInterval(tell, heartbeatMs).unref();

  function tell(): void {
    // A client that does not read would have all of it kept for it.
    if (isEnded || isFull()) return;
    progress++;
    const message = latest === undefined ? {} : { message: toProgressText(latest) };
    // Who went away needs no progress, and is noticed elsewhere.
    send({ method: "notifications/progress", params: { progressToken, progress, ...message } }).catch(() => undefined);
  }

  return {
    onProgress(turn) {
      const isNew = latest === undefined || toPlace(latest) !== toPlace(turn);
      latest = turn;
      if (isNew) tell();
    },
    end() {
      isEnded = true;
      clearInterval(beating);
    },
  };
}

/** A turn also says that it starts when its session is open. */
function toPlace(turn: TurnProgress): string {
  switch (turn.phase) {
    case "waiting":
      return `waiting ${turn.position}`;
    case "starting":
      return "starting";
    case "running":
      return `running ${turn.tries}`;
  }
}

/** Where a turn is and for how long, for people: `code-reviewer: running, second try, 1m20s`. */
export function toProgressText(turn: TurnProgress): string {
  const seconds = Math.floor((performance.now() - turn.sinceMs) / 1000);
  const place = toPlaceText(turn);
  if (seconds === 0) return `${turn.agent}: ${place}`;
  return `${turn.agent}: ${place}${place === SECOND_TRY ? "," : ""} ${toDurationText(1000 * seconds)}`;
}

const SECOND_TRY = "running, second try";
const ORDINAL = new Intl.PluralRules("en-US", { type: "ordinal" });
const ENDINGS: Partial<Record<Intl.LDMLPluralRule, string>> = { one: "st", two: "nd", few: "rd" };

function toPlaceText(turn: TurnProgress): string {
  switch (turn.phase) {
    case "waiting":
      return `waiting, ${turn.position}${ENDINGS[ORDINAL.select(turn.position)] ?? "th"} in line`;
    case "starting":
      return "starting";
    case "running":
      return turn.tries > 1 ? SECOND_TRY : "running";
  }
}
