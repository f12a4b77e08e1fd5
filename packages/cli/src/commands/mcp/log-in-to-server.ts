import { BudgieError } from "@budgie/core";
import { formatDuration, escapeForTerminal } from "@budgie/core/text";
import { openBrowser, type LoginFacts } from "@budgie/mcp-manager";
import { findServer, findServers } from "@budgie/mcp-manager/agents";
import { createAddressFetch, createUserLogins } from "@budgie/mcp-manager/connections";
import type { Config } from "../../config/config.ts";
import type { Host } from "@budgie/mcp-server";
import { toServersConfig } from "@budgie/mcp-server/commands";
import { interruptible } from "../../process/interruptible.ts";
import { stringifySafely } from "../../terminal/stringify-safely.ts";
import type { LoginArguments } from "./mcp-commands.ts";

/** Runs `budgie mcp login`: prints the address of a login, waits for the browser, and stores the tokens. */
export async function logInToServer(config: Config, given: LoginArguments, host: Host): Promise<number> {
  const { json, name, timeoutMs, ...choice } = given;
  const servers = toServersConfig(config, host);
  const usable = findServer(findServers(servers, choice), name);
  const { server } = usable;
  if (server.type !== "http") {
    const message = `The MCP server "${name}" is a program, which logs in by itself if it needs to.`;
    throw new BudgieError("INPUT_INVALID", message);
  }
  const onAddress = (address: string): void => showAddress(address, { json, timeoutMs }, host);
  const logins = createUserLogins(servers, createAddressFetch([usable], servers));
  const facts = await interruptible(host, (interrupted) => {
    const signal = AbortSignal.any([interrupted, AbortSignal.timeout(timeoutMs)]);
    return logins.logIn(server, { onAddress, signal });
  });
  host.stdout.write(json ? stringifySafely({ name, ...facts }) : formatLogin(name, facts));
  return 0;
}

type Showing = { readonly json: boolean; readonly timeoutMs: number };

function showAddress(address: string, { json, timeoutMs }: Showing, host: Host): void {
  host.stdout.write(
    json ? stringifySafely({ address }) : `Open this address in a browser of this machine:\n\n  ${address}\n\n`,
  );
  // Behind a pipe, there may be no user.
  if (host.columns !== undefined) openBrowser(address, host);
  host.report(`waiting ${formatDuration(timeoutMs)} for the login`);
}

function formatLogin(name: string, { expiresAt, isRenewable, issuer, scope }: LoginFacts): string {
  const until = expiresAt === undefined || isRenewable ? "" : `, until ${expiresAt.toISOString()}`;
  const scopes = scope === undefined || scope === "" ? "" : `, for ${scope}`;
  return `${escapeForTerminal(`Logged in to "${name}" by ${issuer}${scopes}${until}.`)}\n`;
}
