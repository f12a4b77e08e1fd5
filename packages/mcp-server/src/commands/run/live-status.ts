import { sanitizeText, type EgressReport, type TurnHooks, type TurnProgress } from "@budgie/core";
import { StringDecoder } from "node:string_decoder";
import { toProgressText } from "../../mcp/calls/progress.ts";
import type { LiveLine } from "../../terminal/live-line.ts";

/** The status of a turn in the last line of a terminal. */
export type LiveStatus = {
  readonly [Hook in "onEgress" | "onOutput" | "onProgress"]: NonNullable<TurnHooks[Hook]>;
} & {
  /** Removes the line for good */
  readonly clear: () => void;
};

// Enough for the last line, however long
const KEPT_CHARACTERS = 4_096;
const EVERY_MS = 250;
const MOST_REFUSED = 5;
const KEPT_OF_HOST = 100;

/** Creates the status of a turn: its phase, the last line that its agent printed, and the hosts that were refused. */
export function createLiveStatus(line: LiveLine): LiveStatus {
  const decoder = new StringDecoder("utf8");
  const refused = new Set<string>();
  let progress: TurnProgress | undefined;
  let printed = "";

  function show(): void {
    if (progress === undefined) return;
    const hosts = refused.size === 0 ? [] : [`refused: ${[...refused].join(", ")}`];
    // An agent's activity is in its output too.
    const activity = progress.phase === "running" ? `[${progress.activity}]` : undefined;
    const last = toLastLine(printed).filter((text) => text !== activity);
    line.show([toProgressText(progress), ...hosts, ...last].join("  |  "));
  }

  // The duration changes, even if nothing else does.
  const timer = setInterval(show, EVERY_MS).unref();
  return {
    onProgress(turn) {
      progress = turn;
      show();
    },
    onOutput(chunk, stream) {
      if (stream === "stdout") printed = (printed + decoder.write(chunk)).slice(-KEPT_CHARACTERS);
    },
    onEgress({ denied }: EgressReport) {
      for (const { host } of denied) if (refused.size < MOST_REFUSED) refused.add(host.slice(0, KEPT_OF_HOST));
    },
    clear() {
      clearInterval(timer);
      line.clear();
    },
  };
}

function toLastLine(printed: string): readonly string[] {
  const lines = sanitizeText(printed).split("\n");
  // Kiro begins each message with "> ".
  const last = lines
    .map((text) => text.replace(/\s+/g, " ").replace(/^> ?/, "").trim())
    .findLast((text) => text !== "");
  return last === undefined ? [] : [last];
}
