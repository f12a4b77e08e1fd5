import { toDurationText } from "@budgie/core";
import type { Config } from "../../config/config.ts";
import type { Host } from "../../process/host.ts";
import { withSessions, type KnownSession } from "./known-sessions.ts";
import { toSafeJson } from "../../terminal/safe-json.ts";
import { escapeForTerminal } from "../../terminal/printable.ts";
import { toTable } from "../../terminal/table.ts";

/** Runs `budgie sessions ls`: prints the sessions whose homes exist, the last used first. */
export async function listSessions(config: Config, { json }: { readonly json: boolean }, host: Host): Promise<number> {
  const known = await withSessions(config, host, ({ list }) => list());
  const facts = known.map(toFacts).toSorted((a, b) => toUsed(b).localeCompare(toUsed(a)));
  host.stdout.write(json ? toSafeJson(facts) : sessionsText(facts));
  return 0;
}

type Facts = {
  readonly id: string;
  readonly isolation: KnownSession["isolation"];
  /** `kept`: no budgie owns it, and one with `--keep-sessions` can resume it; `dead`: it can only be removed */
  readonly state: KnownSession["state"] | "kept";
  readonly created: string;
  readonly home: string;
  readonly agent?: string;
  readonly directory?: string;
  readonly used?: string;
  readonly keptUntil?: string;
};

function toFacts({ entry, isolation, record, state }: KnownSession): Facts {
  const facts = { id: record.id, isolation, state, created: record.created.toISOString(), home: record.home };
  if (entry === undefined) return facts;
  const { agent, directory, keepMs, usedMs } = entry;
  const untilMs = keepMs === undefined ? undefined : usedMs + keepMs;
  const isKept = state === "dead" && untilMs !== undefined && untilMs > Date.now();
  return {
    ...facts,
    state: isKept ? "kept" : state,
    agent,
    directory,
    used: toTime(usedMs),
    ...(isKept ? { keptUntil: toTime(untilMs) } : {}),
  };
}

function toUsed({ created, used }: Facts): string {
  return used ?? created;
}

function toTime(ms: number): string {
  return new Date(ms).toISOString();
}

function sessionsText(all: readonly Facts[]): string {
  if (all.length === 0) return "There are no sessions.\n";
  const head = ["SESSION", "AGENT", "ISOLATION", "AGE", "LAST USED", "STATE", "DIRECTORY"];
  return `${toTable([head, ...all.map(toRow)]).join("\n")}\n`;
}

function toRow({ agent = "-", created, directory = "-", id, isolation, keptUntil, state, used }: Facts): string[] {
  const ago = (time: string | undefined): string =>
    time === undefined ? "-" : `${toDurationText(Math.max(0, Date.now() - Date.parse(time)))} ago`;
  const shown = keptUntil === undefined ? state : `kept until ${keptUntil.replace(/\.\d+Z$/, "Z")}`;
  return [
    id,
    escapeForTerminal(agent),
    isolation,
    ago(created).replace(" ago", ""),
    ago(used),
    shown,
    escapeForTerminal(directory),
  ];
}
