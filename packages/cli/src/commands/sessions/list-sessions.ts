import type { Config } from "../../config/config.ts";
import type { RegisterEntry } from "@budgie/core/sessions";
import type { Host } from "@budgie/mcp-server";
import { withSessions, type KnownHome } from "./known-homes.ts";
import { age, ago } from "../../terminal/ago.ts";
import { shortId } from "../../terminal/expand-id.ts";
import { stringifySafely } from "../../terminal/stringify-safely.ts";
import { escapeForTerminal } from "@budgie/core/text";
import { formatTable } from "../../terminal/format-table.ts";

/** Runs `budgie sessions ls`: prints the sessions whose homes exist, the last used first. */
export async function listSessions(config: Config, { json }: { readonly json: boolean }, host: Host): Promise<number> {
  const known = await withSessions(config, host, ({ list }) => list());
  const facts = known.map(toFacts).toSorted((a, b) => usedAt(b).localeCompare(usedAt(a)));
  host.stdout.write(json ? stringifySafely(facts) : sessionsText(facts, host));
  return 0;
}

type Listed = Partial<Pick<RegisterEntry, "agent" | "directory">> & {
  readonly id: string;
  readonly isolation: KnownHome["isolation"];
  /** `kept`: no budgie owns it, and one with `--keep-sessions` can resume it; `dead`: it can only be removed */
  readonly state: KnownHome["state"] | "kept";
  readonly created: string;
  readonly home: string;
  readonly used?: string;
  readonly keptUntil?: string;
};

function toFacts({ entry, isolation, record, state }: KnownHome): Listed {
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
    used: formatTime(usedMs),
    ...(isKept ? { keptUntil: formatTime(untilMs) } : {}),
  };
}

function usedAt({ created, used }: Listed): string {
  return used ?? created;
}

function formatTime(ms: number): string {
  return new Date(ms).toISOString();
}

function sessionsText(all: readonly Listed[], host: Host): string {
  if (all.length === 0) return "There are no sessions.\n";
  const head = ["SESSION", "AGENT", "ISOLATION", "AGE", "LAST USED", "STATE", "DIRECTORY"];
  return `${formatTable([head, ...all.map(toRow)], host).join("\n")}\n`;
}

function toRow({ agent = "-", created, directory = "-", id, isolation, keptUntil, state, used }: Listed): string[] {
  const shown = keptUntil === undefined ? state : `kept until ${keptUntil.replace(/\.\d+Z$/, "Z")}`;
  return [
    shortId(id),
    escapeForTerminal(agent),
    isolation,
    age(Date.parse(created)),
    used === undefined ? "-" : ago(Date.parse(used)),
    shown,
    escapeForTerminal(directory),
  ];
}
