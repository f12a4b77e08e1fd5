import { resolve } from "node:path";
import { isSessionId } from "@budgie/core";
import type { Run } from "@budgie/core/runs";
import { formatDuration, parseDuration } from "@budgie/core/text";
import { resolveLinks } from "../../config/build-workspaces.ts";
import type { Config } from "../../config/config.ts";
import type { Host } from "@budgie/mcp-server";
import { noRunsText, parseLast, toRunFacts, withRunArchive, type RunFilter } from "./with-run-archive.ts";
import type { RunArchive } from "@budgie/store";
import { resolveAgentName } from "../../agents/find-agent.ts";
import { ago } from "../../terminal/ago.ts";
import { expandId, shortId } from "../../terminal/expand-id.ts";
import { stringifySafely } from "../../terminal/stringify-safely.ts";
import { formatTable } from "../../terminal/format-table.ts";

export type ListRunsOptions = {
  /** A number, as text */
  readonly last: string;
  /** Default: all agents */
  readonly agent?: string;
  readonly session?: string;
  /** A directory: its turns, and those below it. Relative to the current directory */
  readonly dir?: string;
  /** A duration, as text */
  readonly since?: string;
  readonly json: boolean;
};

/** Runs `budgie runs ls`: prints the last turns, the newest first. */
export async function listRuns(config: Config, options: ListRunsOptions, host: Host): Promise<number> {
  const { json, last } = options;
  const agent = resolveAgentName(options.agent, config);
  const limit = parseLast(last);
  const directory = options.dir === undefined ? undefined : resolveLinks(resolve(host.cwd, options.dir));
  const sinceMs = options.since === undefined ? undefined : Date.now() - parseDuration(options.since, "--since");
  const { runs, sessionId } = await withRunArchive(config, async (archive) => {
    const session = options.session === undefined ? undefined : await findSession(archive, options.session);
    return { sessionId: session, runs: await archive.recent({ limit, agent, sessionId: session, directory, sinceMs }) };
  });
  host.stdout.write(
    json
      ? stringifySafely(runs.map(toRunFacts))
      : runsText(runs, { agent, sessionId, directory, since: options.since }, host),
  );
  return 0;
}

/** Returns the id of the session that begins with this, among the sessions of the log. */
async function findSession(archive: RunArchive, text: string): Promise<string> {
  // A whole id begins no other.
  if (isSessionId(text)) return text;
  return expandId(text, await archive.sessions(text));
}

function runsText(runs: readonly Run[], filter: RunFilter, host: Host): string {
  if (runs.length === 0) return noRunsText(filter);
  const head = ["RUN", "STARTED", "AGENT", "OUTCOME", "TOOK", "ANSWER", "SESSION"];
  return `${formatTable([head, ...runs.map(toRow)], host).join("\n")}\n`;
}

function toRow({ agent, answerBytes, delivered, endedMs, id, outcome, sessionId = "", startedMs }: Run) {
  return [
    shortId(id),
    ago(startedMs),
    agent,
    outcome === "answered" && !delivered ? "answered, not delivered" : outcome,
    endedMs === undefined ? "" : formatDuration(Math.max(endedMs - startedMs, 0)),
    answerBytes === undefined ? "" : `${answerBytes} bytes`,
    shortId(sessionId),
  ];
}
