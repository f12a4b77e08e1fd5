import { BudgieError } from "@budgie/core";
import { escapeForTerminal } from "@budgie/core/text";
import type { Config } from "../../config/config.ts";
import { EXIT, type Host } from "@budgie/mcp-server";
import {
  createAddressFetch,
  findServers,
  createUserLogins,
  type McpChoice,
  type UsableServer,
} from "@budgie/mcp-server/commands";
import { stringifySafely } from "../../terminal/stringify-safely.ts";

type Options = McpChoice & { readonly name: string; readonly json: boolean };

/** Runs `budgie mcp logout`: removes the tokens, and has the authorization server revoke them. Resolves to 1 if it did not. */
export async function logOutOfServer(config: Config, options: Options, host: Host): Promise<number> {
  const { agent, json, name } = options;
  const usable = findUsable(config, options, host);
  // Agents may have different servers of one name. A login outlives its entry, so without an agent all of the name are meant.
  const urls = agent === undefined ? undefined : usable.flatMap(({ server }) => ("url" in server ? [server.url] : []));
  const removed = await createUserLogins(config, createAddressFetch(usable, host)).logOut(name, { urls });
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
function findUsable(config: Config, { agent }: McpChoice, host: Host): readonly UsableServer[] {
  try {
    return findServers(config, { agent }, host).flatMap(({ use }) => ("server" in use ? [use] : []));
  } catch (error) {
    if (error instanceof BudgieError && agent === undefined) return [];
    throw error;
  }
}
