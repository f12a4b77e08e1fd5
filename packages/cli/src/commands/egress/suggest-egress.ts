import { findEntry, formatTarget, type AllowedHost } from "@budgie/core";
import { formatTimes } from "@budgie/core/text";
import { findPreset } from "@budgie/egress/allow-list";
import type { Config } from "../../config/config.ts";
import type { Host } from "@budgie/mcp-server";
import { findPolicy } from "@budgie/mcp-server/commands";
import { resolveAgentName } from "../../agents/find-agent.ts";
import { countRequestedHosts, type RequestedHost, type RequestedHosts } from "./requested-hosts.ts";
import { noRunsText, parseLast, withRunArchive } from "../runs/with-run-archive.ts";

export type SuggestOptions = {
  /** The configuration with `--sandbox`, also if it was not given */
  readonly config: Config;
  /** A number, as text */
  readonly last: string;
  /** Default: all agents */
  readonly agent?: string;
  readonly json: boolean;
};

/** Runs `budgie egress suggest`: prints the smallest list of hosts that the last turns would have needed. */
export async function suggestEgress(options: SuggestOptions, { stdout }: Host): Promise<number> {
  const { config, json, last } = options;
  const agent = resolveAgentName(options.agent, config);
  const limit = parseLast(last);
  const runs = await withRunArchive(config, (archive) => archive.recent({ limit, agent }));
  const { egress } = findPolicy(config, agent ?? "");
  const { needed, never } = countRequestedHosts(runs);
  const marked = needed.map((need) => mark(need, egress.hosts));
  const watched = runs.filter((run) => run.egress !== undefined).length;
  const answer = { runs: runs.length, watched, needed: marked, never };
  stdout.write(json ? `${JSON.stringify(answer)}\n` : suggestionText(answer, agent));
  return 0;
}

type Marked = RequestedHost & {
  /** The option that allows the host */
  readonly option: string;
  /** The source of the host's present entry; absent if there is none */
  readonly from?: string;
  /** The preset that allows the host, and others; absent if there is none */
  readonly preset?: string;
};

function mark(need: RequestedHost, hosts: readonly AllowedHost[]): Marked {
  const { host, port } = need;
  const entry = findEntry(hosts, need);
  const target = `${host}${port === 443 ? "" : `:${port}`}`;
  const pin = entry?.address === undefined ? "" : `=${entry.address}`;
  const preset = findPreset(need);
  return {
    ...need,
    option: `--allow-host ${target}${pin}`,
    ...(entry === undefined ? {} : { from: entry.from }),
    ...(preset === undefined ? {} : { preset }),
  };
}

type Answer = Omit<RequestedHosts, "needed"> & {
  readonly runs: number;
  readonly watched: number;
  readonly needed: readonly Marked[];
};

function suggestionText({ needed, never, runs, watched }: Answer, agent: string | undefined): string {
  const whose = agent === undefined ? "" : ` of the agent "${agent}"`;
  if (runs === 0) return noRunsText({ agent });
  const turns = `the last ${runs === 1 ? "turn" : `${runs} turns`}${whose}`;
  if (watched === 0)
    return `Nothing is known of what ${turns} reached: that is recorded only in a sandbox, and not with --egress bridge.\n`;
  const lines = [
    needed.length === 0 ? `${formatSentence(turns)} asked for no host.` : `${formatSentence(turns)} would have needed:`,
    ...formatColumns(needed),
    ...(never.length === 0 ? [] : ["Never allowed by name:"]),
    ...never.map(
      ({ count, host, port, why }) =>
        `  ${formatTarget({ host: printableHost(host), port })}, ${formatTimes(count)}: ${why}`,
    ),
  ];
  return `${lines.join("\n")}\n`;
}

/** Replaces unusual characters, since an agent chose the name. */
function printableHost(host: string): string {
  return host.replace(/[^\x21-\x7e]/g, "?");
}

function formatColumns(needed: readonly Marked[]): readonly string[] {
  const width = Math.max(...needed.map(({ option }) => option.length), 0);
  return needed.map((need) => `  ${need.option.padEnd(width)}  # ${formatRemark(need)}`);
}

function formatRemark({ agents, allowed, denied, from, preset }: Marked): string {
  const counts = [
    ...(allowed === 0 ? [] : [`reached ${formatTimes(allowed)}`]),
    ...(denied === 0 ? [] : [`refused ${formatTimes(denied)}`]),
  ];
  return `${counts.join(", ")} by ${agents.join(", ")}; ${toOrigin(from, preset)}`;
}

function toOrigin(from: string | undefined, preset: string | undefined): string {
  if (from !== undefined) return `allowed already: ${from}`;
  return preset === undefined ? "new" : `new, in --allow-preset ${preset}`;
}

function formatSentence(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
