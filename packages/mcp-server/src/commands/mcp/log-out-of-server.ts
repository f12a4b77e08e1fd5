import { BudgieError } from "@budgie/core";
import type { Config } from "../../config/config.ts";
import { EXIT } from "../../process/exit-code.ts";
import type { Host } from "../../process/host.ts";
import { escapeForTerminal } from "../../terminal/printable.ts";
import { toSafeJson } from "../../terminal/safe-json.ts";
import { createAddressFetch } from "../../agent-servers/address-fetch.ts";
import { findServers, type UsableServer } from "../../agent-servers/find-servers.ts";
import { createUserLogins } from "../../agent-servers/user-logins.ts";

type Options = { readonly name: string; readonly json: boolean };

/** Runs `budgie mcp logout`: removes the tokens, and has the authorization server revoke them. Resolves to 1 if it did not. */
export async function logOutOfServer(config: Config, { json, name }: Options, host: Host): Promise<number> {
  const removed = await createUserLogins(config, createAddressFetch(findUsable(config, host), host)).logOut(name);
  if (removed.length === 0) {
    throw new BudgieError("INPUT_INVALID", `There is no login to an MCP server "${name}".`);
  }
  if (json) host.stdout.write(toSafeJson(removed.map((login) => ({ name, ...login }))));
  else
    host.stdout.write(removed.map(({ url }) => `${escapeForTerminal(`Logged out of "${name}", ${url}`)}\n`).join(""));
  const problems = removed.flatMap(({ problem }) => problem ?? []);
  for (const problem of problems) {
    host.report(escapeForTerminal(`the tokens of "${name}" are removed here, and may be valid still: ${problem}`));
  }
  return problems.length === 0 ? EXIT.done : EXIT.failed;
}

/** Finds the servers, whose sections may pin the authorization server's name. An invalid file does not prevent a logout. */
function findUsable(config: Config, host: Host): readonly UsableServer[] {
  try {
    return findServers(config, { agent: undefined }, host).flatMap(({ use }) => ("server" in use ? [use] : []));
  } catch (error) {
    if (error instanceof BudgieError) return [];
    throw error;
  }
}
