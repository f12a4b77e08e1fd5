import { CERTIFICATE_REFUSED } from "@budgie/core";
import { TurnEvents, type TurnProgress } from "@budgie/core/protocol";
import { sanitizeText } from "@budgie/core/text";
import { StringDecoder } from "node:string_decoder";
import { formatProgress } from "@budgie/mcp-server/commands";
import type { LiveLine } from "../../terminal/live-line.ts";

/** The status of a turn in the last line of a terminal. */
export type LiveStatus = {
  /** The events of the turn */
  readonly events: TurnEvents;
  /** Removes the line for good */
  readonly clear: () => void;
};

// Enough for the last line, however long
const KEPT_CHARACTERS = 4_096;
const EVERY_MS = 250;
const MOST_REFUSED = 5;
const KEPT_OF_HOST = 100;
const REMEDIES: Readonly<Record<string, string>> = { [CERTIFICATE_REFUSED]: "; --ca-file adds one to trust" };

/** Creates the status of a turn: its phase, the last line that its agent printed, and the hosts that were refused or not reached. */
export function createLiveStatus(line: LiveLine): LiveStatus {
  const decoder = new StringDecoder("utf8");
  const [refused, failed] = [new Set<string>(), new Set<string>()];
  let progress: TurnProgress | undefined;
  let printed = "";

  function show(): void {
    if (progress === undefined) return;
    const hosts = [...list("refused", refused), ...list("not reached", failed)];
    // An agent's activity is in its output too.
    const activity = progress.phase === "running" ? `[${progress.activity}]` : undefined;
    const last = findLastLine(printed).filter((text) => text !== activity);
    line.show([formatProgress(progress), ...hosts, ...last].join("  |  "));
  }

  // The duration changes, even if nothing else does.
  const timer = setInterval(show, EVERY_MS).unref();
  const events = new TurnEvents();
  events.on("phase", (turn) => {
    progress = turn;
    show();
  });
  events.on("output", (chunk, stream) => {
    if (stream === "stdout") printed = (printed + decoder.write(chunk)).slice(-KEPT_CHARACTERS);
  });
  events.on("egress", (report) => {
    for (const { host } of report.denied) add(refused, host.slice(0, KEPT_OF_HOST));
    for (const { host, why } of report.failed ?? [])
      add(failed, `${host.slice(0, KEPT_OF_HOST)} (${why}${REMEDIES[why] ?? ""})`);
  });
  return {
    events,
    clear() {
      clearInterval(timer);
      line.clear();
    },
  };
}

function list(word: string, hosts: ReadonlySet<string>): readonly string[] {
  return hosts.size === 0 ? [] : [`${word}: ${[...hosts].join(", ")}`];
}

function add(hosts: Set<string>, host: string): void {
  if (hosts.size < MOST_REFUSED) hosts.add(host);
}

function findLastLine(printed: string): readonly string[] {
  const lines = sanitizeText(printed).split("\n");
  // Kiro begins each message with "> ".
  const last = lines
    .map((text) => text.replace(/\s+/g, " ").replace(/^> ?/, "").trim())
    .findLast((text) => text !== "");
  return last === undefined ? [] : [last];
}
