import { findEntry, toTargetText, type AllowedHost } from "@budgie/core";
import type { Config } from "../../config/config.ts";
import type { Host } from "../../process/host.ts";
import { resolveAgentName } from "../../mcp/names/find-agent.ts";
import { toRequestedHosts, type RequestedHost, type RequestedHosts } from "./requested-hosts.ts";
import { noRunsText, parseLast, withRunArchive } from "../runs/run-archive.ts";

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
  const { egress } = config.policies.agents.get(agent ?? "") ?? config.policies.ceiling;
  const { needed, never } = toRequestedHosts(runs);
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
};

function mark(need: RequestedHost, hosts: readonly AllowedHost[]): Marked {
  const { host, port } = need;
  const entry = findEntry(hosts, need);
  const target = `${host}${port === 443 ? "" : `:${port}`}`;
  const pin = entry?.address === undefined ? "" : `=${entry.address}`;
  return { ...need, option: `--allow-host ${target}${pin}`, ...(entry === undefined ? {} : { from: entry.from }) };
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
    needed.length === 0 ? `${toSentence(turns)} asked for no host.` : `${toSentence(turns)} would have needed:`,
    ...toColumns(needed),
    ...(never.length === 0 ? [] : ["Never allowed by name:"]),
    ...never.map(
      ({ count, host, port, why }) =>
        `  ${toTargetText({ host: printableHost(host), port })}, ${toTimes(count)}: ${why}`,
    ),
  ];
  return `${lines.join("\n")}\n`;
}

/** Replaces unusual characters, since an agent chose the name. */
function printableHost(host: string): string {
  return host.replace(/[^\x21-\x7e]/g, "?");
}

function toColumns(needed: readonly Marked[]): readonly string[] {
  const width = Math.max(...needed.map(({ option }) => option.length), 0);
  return needed.map((need) => `  ${need.option.padEnd(width)}  # ${toRemark(need)}`);
}

function toRemark({ agents, allowed, denied, from }: Marked): string {
  const counts = [
    ...(allowed === 0 ? [] : [`reached ${toTimes(allowed)}`]),
    ...(denied === 0 ? [] : [`refused ${toTimes(denied)}`]),
  ];
  return `${counts.join(", ")} by ${agents.join(", ")}; ${from === undefined ? "new" : `allowed already: ${from}`}`;
}

function toSentence(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

function toTimes(count: number): string {
  return count === 1 ? "once" : `${count} times`;
}
