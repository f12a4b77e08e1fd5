import { BudgieError } from "@budgie/core";
import { escapeForTerminal } from "@budgie/core/text";
import type { Config } from "../../config/config.ts";
import { EXIT, type Host } from "@budgie/mcp-server";
import {
  findServer,
  findServers,
  storePins,
  type FoundServer,
  type McpChoice,
  type PinnedEntry,
  type WaitingServer,
} from "@budgie/mcp-manager/agents";
import { toServersConfig } from "@budgie/mcp-server/commands";
import { isYes, refuseWithoutPerson } from "../../process/refuse-without-person.ts";

type Options = McpChoice & { readonly name: string };

/**
 * Runs `budgie mcp allow`: shows the entry that waits, asks, and stores its hash. Resolves to 1 if the answer is not "y". Throws
 * `INPUT_INVALID` without a terminal, so that no agent, script or client can allow an entry.
 */
export async function allowServer(config: Config, { agent, name }: Options, host: Host): Promise<number> {
  refuseWithoutPerson(host, `Only a person can allow the MCP server "${name}"`);
  // A later --allow-mcp needs it to be allowed before.
  const wide = { ...config, allowMcp: [...config.allowMcp, name] };
  const found = findServers(toServersConfig(wide, host), { agent }).filter((server) => server.name === name);
  const waiting = found.filter(isWaiting);
  const [first] = waiting;
  if (first === undefined) {
    // Throws the reason why none may be used.
    if (!found.some(({ use }) => "server" in use)) findServer(found, name);
    host.stdout.write(`${escapeForTerminal(`The MCP server "${name}" is allowed, or needs no permission.`)}\n`);
    return EXIT.done;
  }
  const agents = waiting.map((server) => server.agent);
  if (waiting.some(({ use }) => use.pin.hash !== first.use.pin.hash)) {
    const names = agents.map((one) => `"${one}"`).join(", ");
    const message = `The agents ${names} have different MCP servers "${name}". Choose one with --agent.`;
    throw new BudgieError("INPUT_INVALID", message);
  }
  const lines = formatEntry(first.use.entry, { agents, folder: host.home, from: first.from });
  host.stdout.write(`${lines.map(escapeForTerminal).join("\n")}\n\nAllow it until this changes? [y/N] `);
  if (!(await isYes(host))) {
    host.stdout.write("Not allowed.\n");
    return EXIT.failed;
  }
  // The hashes are those of what was shown, whatever the file says by now.
  storePins(
    waiting.map(({ use }) => use.pin),
    config,
  );
  host.stdout.write("Allowed.\n");
  return EXIT.done;
}

function isWaiting(server: FoundServer): server is FoundServer & { readonly use: WaitingServer } {
  return "pin" in server.use;
}

type Around = { readonly agents: readonly string[]; readonly folder: string; readonly from: string };

/** Returns what the hash stands for, without the values of variables and headers. */
function formatEntry(entry: PinnedEntry, { agents, folder, from }: Around): readonly string[] {
  const { names, server } = entry;
  const what =
    server.type === "stdio"
      ? { command: server.command, arguments: quoteAll(server.args), variables: formatNames(server.env) }
      : { URL: server.url, headers: formatNames(server.headers) };
  const facts = {
    agents: agents.join(", "),
    from,
    ...what,
    "yours to use": names.join(", "),
    ...formatRun(entry, folder),
  };
  const rows = Object.entries(facts).filter(([, text]) => text !== "");
  return [`The MCP server "${server.name}"`, ...rows.map(([key, text]) => `  ${key.padEnd(WIDTH)} ${text}`)];
}

const WIDTH = 12;

/** Returns quoted texts, so that none looks like two. */
function quoteAll(texts: readonly string[]): string {
  return texts.map((text) => JSON.stringify(text)).join(" ");
}

function formatNames(values: Readonly<Record<string, string>>): string {
  return Object.keys(values).join(", ");
}

function formatRun({ place }: PinnedEntry, folder: string): Readonly<Record<string, string>> {
  if (place.run === "host") return { runs: "on this machine, with your rights", folder };
  if (place.run === "address") return {};
  return { runs: "in a container of its own", image: place.image ?? "" };
}
