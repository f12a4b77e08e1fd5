import { BudgieError } from "@budgie/core";
import { escapeForTerminal } from "@budgie/core/text";
import { findServers, type McpChoice, type ServersConfig, type UsableServer } from "@budgie/mcp-manager/agents";
import { createAddressFetch, createUserLogins } from "@budgie/mcp-manager/connections";
import type { Config } from "../../config/config.ts";
import { EXIT, type Host } from "@budgie/mcp-server";
import { toServersConfig } from "@budgie/mcp-server/commands";
import { stringifySafely } from "../../terminal/stringify-safely.ts";

type Options = McpChoice & { readonly name: string; readonly json: boolean };

/** Runs `budgie mcp logout`: removes the tokens, and has the authorization server revoke them. Resolves to 1 if it did not. */
export async function logOutOfServer(config: Config, options: Options, host: Host): Promise<number> {
  const { agent, json, name } = options;
  const servers = toServersConfig(config, host);
  const usable = findUsable(servers, options);
  // Agents may have different servers of one name. A login outlives its entry, so without an agent all of the name are meant.
  const urls = agent === undefined ? undefined : usable.flatMap(({ server }) => ("url" in server ? [server.url] : []));
  const removed = await createUserLogins(servers, createAddressFetch(usable, servers)).logOut(name, { urls });
  if (removed.length === 0) {
    const whose = agent === undefined ? "" : ` that the agent "${agent}" may use`;
    throw new BudgieError("INPUT_INVALID", `There is no login to an MCP server "${name}"${whose}.`);
  }
  if (json) host.stdout.write(stringifySafely(removed.map((login) => ({ name, ...login }))));
  else
    host.stdout.write(removed.map(({ url }) => `${escapeForTerminal(`Logged out of "${name}", ${url}`)}\n`).join(""));
  const problems = removed.flatMap(({ problem }) => problem ?? []);
  for (const problem of problems) {
    host.report(escapeForTerminal(`the tokens of "${name}" are removed here, and may be valid still: ${problem}`));
  }
  return problems.length === 0 ? EXIT.done : EXIT.failed;
}

/** Finds the servers, whose sections may pin the authorization server's name. Without an agent, an invalid file does not prevent a logout. */
function findUsable(servers: ServersConfig, { agent }: McpChoice): readonly UsableServer[] {
  try {
    return findServers(servers, { agent }).flatMap(({ use }) => ("server" in use ? [use] : []));
  } catch (error) {
    if (error instanceof BudgieError && agent === undefined) return [];
    throw error;
  }
}
