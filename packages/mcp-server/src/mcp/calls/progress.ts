import type { ProgressToken, ServerNotification } from "@modelcontextprotocol/sdk/types.js";
import { TurnEvents, type TurnProgress } from "@budgie/core/protocol";
import { sanitizeText, formatDuration } from "@budgie/core/text";

/** The progress notifications of one call. */
export type Progress = {
  /** The events of the call's turn, which become notifications if the client asked for progress */
  readonly events: TurnEvents;
  /** Stops all notifications. */
  readonly end: () => void;
};

export type ProgressOptions = {
  /** The client's token; `undefined` if it did not ask for progress */
  readonly token: ProgressToken | undefined;
  readonly send: (notification: ServerNotification) => Promise<void>;
  /** `true` if notifications would only be buffered */
  readonly isFull: () => boolean;
  /** The interval of notifications without a change */
  readonly heartbeatMs: number;
};

/**
 * Creates the progress notifications of a call: one for each change, and one at each interval. Notifications that the client
 * does not read are skipped.
 */
export function createProgress({ heartbeatMs, isFull, send, token }: ProgressOptions): Progress {
  const events = new TurnEvents();
  if (token === undefined) return { events, end: () => undefined };
  const progressToken = token;
  let isEnded = false;
  let progress = 0;
  let latest: TurnProgress | undefined;
  const beating = setInterval(tell, heartbeatMs).unref();

  function tell(): void {
    // Notifications for a client that does not read would accumulate in memory.
    if (isEnded || isFull()) return;
    progress++;
    const message = latest === undefined ? {} : { message: formatProgress(latest) };
    // A disconnected client is handled elsewhere.
    send({ method: "notifications/progress", params: { progressToken, progress, ...message } }).catch(() => undefined);
  }

  events.on("phase", (turn) => {
    const isNew = latest?.runId !== turn.runId || placeOf(latest) !== placeOf(turn);
    latest = turn;
    if (isNew) tell();
  });
  return {
    events,
    end() {
      isEnded = true;
      clearInterval(beating);
    },
  };
}

/** Returns the part of the progress whose change is reported. Opening the session repeats the phase `starting`. */
function placeOf(turn: TurnProgress): string {
  switch (turn.phase) {
    case "waiting":
      return `waiting ${turn.position}`;
    case "starting":
      return `starting ${turn.doing}`;
    case "running":
      return `running ${turn.attempt} ${turn.activity}`;
  }
}

/** Returns the phase of a turn, its duration and the agent's activity: `code-reviewer: running, second try, 1m20s: Edit a.ts`. */
export function formatProgress(turn: TurnProgress): string {
  const seconds = Math.floor((performance.now() - turn.sinceMs) / 1000);
  const place = formatPlace(turn);
  const activity = turn.phase === "running" && turn.activity !== undefined ? `: ${sanitizeText(turn.activity)}` : "";
  if (seconds === 0) return `${turn.agent}: ${place}${activity}`;
  return `${turn.agent}: ${place}${place === SECOND_TRY ? "," : ""} ${formatDuration(1000 * seconds)}${activity}`;
}

const SECOND_TRY = "running, second try";
const ORDINAL = new Intl.PluralRules("en-US", { type: "ordinal" });
const ENDINGS: Partial<Record<Intl.LDMLPluralRule, string>> = { one: "st", two: "nd", few: "rd" };

function formatPlace(turn: TurnProgress): string {
  switch (turn.phase) {
    case "waiting":
      return `waiting, ${turn.position}${ENDINGS[ORDINAL.select(turn.position)] ?? "th"} in line`;
    case "starting":
      return turn.doing === undefined ? "starting" : `starting, ${turn.doing}`;
    case "running":
      return turn.attempt > 1 ? SECOND_TRY : "running";
  }
}
