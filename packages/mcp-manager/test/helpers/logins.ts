import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startAuthorizationServer, startMockServer, type AuthorizationServerOptions } from "@budgie/testkit";
import { createLogins, type Logins } from "../../src/login/logins.ts";
import type { McpServer } from "../../src/config/mcp-server.ts";
import type { NamedServer } from "../../src/login/stored-login.ts";
import { connectOnHost } from "../../src/transport/connect-on-host.ts";
import { manage, toAddress } from "./servers.ts";

/** Creates a user with a folder for their logins. */
export function createUser() {
  const home = mkdtempSync(join(tmpdir(), "budgie-logins-"));
  const folder = join(home, "logins");
  return {
    folder,
    /** The files of the folder */
    files: () => readdirSync(folder),
    /** Opens the logins like another process of the user. */
    logins: () => createLogins({ folder, clientName: "test" }),
    [Symbol.dispose]: () => rmSync(home, { recursive: true, force: true }),
  };
}

/** Starts a server that requires an authorization server's tokens, and creates a user without a login. */
export async function startPlace(options: AuthorizationServerOptions = {}) {
  const authorization = await startAuthorizationServer(options);
  const mock = await startMockServer({ authorization, tools: [{ name: "echo" }] });
  const user = createUser();
  return {
    authorization,
    mock,
    user,
    server: toServer(mock.url),
    async [Symbol.asyncDispose]() {
      user[Symbol.dispose]();
      await mock[Symbol.asyncDispose]();
      await authorization[Symbol.asyncDispose]();
    },
  };
}

/** Returns a server over HTTP. */
export function toServer(url: string, own: Partial<NamedServer> = {}): NamedServer {
  return toAddress("far", url, own) as NamedServer;
}

/** Logs in as a user whose browser opens each address at once. Returns the address and the last page. */
export async function logInAtOnce(logins: Logins, server: NamedServer, browse = openPage) {
  let opened = "";
  let page: Promise<string> | undefined;
  const facts = await logins.logIn(server, {
    onAddress(address) {
      opened = address;
      page = browse(address);
    },
  });
  return { facts, opened: new URL(opened), page: await page };
}

async function openPage(address: string): Promise<string> {
  return (await fetch(address)).text();
}

/** Creates a manager of servers that has a user's logins. */
export function manageAs(logins: Logins, server: NamedServer) {
  return manage({
    servers: [server as McpServer],
    connect: connectOnHost({ env: process.env, cwd: "/", findLogin: logins.find }),
  });
}
