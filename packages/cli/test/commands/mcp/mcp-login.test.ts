import { join } from "node:path";
import { PassThrough } from "node:stream";
import { startAuthorizationServer, startMockServer, type AuthorizationServerOptions } from "@budgie/testkit";
import { describe, expect, it } from "vitest";
import { runCli } from "../../../src/run-cli.ts";
import { toSilentHost } from "../../helpers/to-silent-host.ts";
import { createInstallUser, type InstallUser } from "../install/create-install-user.ts";
import { allow, allowAtTerminal, setUp } from "./set-up-mcp.ts";

async function start(options: AuthorizationServerOptions = {}) {
  const authorization = await startAuthorizationServer(options);
  const server = await startMockServer({ authorization, tools: [{ name: "echo" }] });
  const user = createInstallUser();
  const run = setUp(user, {
    agent: { mcpServers: { far: { url: server.url } } },
    config: allow({ far: { run: "host" } }),
  });
  return {
    authorization,
    user,
    run,
    server,
    async [Symbol.asyncDispose]() {
      user[Symbol.dispose]();
      await server[Symbol.asyncDispose]();
      await authorization[Symbol.asyncDispose]();
    },
  };
}

/** Runs `budgie mcp login far` for a user whose browser opens each address that is printed. */
async function logIn({ home, project }: InstallUser, args: readonly string[] = []) {
  const stdout = new PassThrough();
  const reports: string[] = [];
  let printed = "";
  stdout.setEncoding("utf8").on("data", (text: string) => {
    printed += text;
    const [address] = /http:\/\/[^\s"]+\/authorize[^\s"]+/.exec(text) ?? [];
    if (address !== undefined) void fetch(address).then((response) => response.text());
  });
  const report = (line: string): void => void reports.push(line);
  const argv = ["mcp", "login", "far", "--config", join(project, "budgie.json"), ...args];
  const exitCode = await runCli(argv, toSilentHost({ home, cwd: project, stdout, report }));
  return { exitCode, printed, reports };
}

function listLogins(user: InstallUser) {
  return Object.entries(user.files()).filter(([file]) => file.includes("/mcp/logins/"));
}

describe("budgie mcp login", () => {
  it("prints an address, and the server is used with the tokens that follow", async () => {
    await using place = await start();
    const { authorization, run, user } = place;

    expect((await run(["ls", "--agent", "coder"])).stdout).toMatch(/far +needs-auth/);
    await expect(run(["call", "far", "echo"])).rejects.toThrow('run "budgie mcp login far"');
    const { exitCode, printed, reports } = await logIn(user);

    expect([exitCode, reports]).toEqual([0, ["waiting 5m for the login"]]);
    expect(printed).toMatch(
      /^Open this address in a browser of this machine:\n\n {2}http:\S+\n\nLogged in to "far" by /,
    );
    expect(listLogins(user)).toEqual([
      [expect.stringMatching(/state\/budgie\/mcp\/logins\/[\da-f]+\.json$/), expect.stringMatching(/^600 /)],
    ]);
    expect((await run(["call", "far", "echo"])).stdout).toBe("{}\n");
    expect(authorization.granted).toEqual(["authorization_code"]);
    expect(printed).not.toMatch(/access-|refresh-/);
  });

  it("prints JSON, a line for the address and one for the login", async () => {
    await using place = await start();
    const { printed } = await logIn(place.user, ["--json"]);

    const lines = printed.trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      { address: expect.stringContaining("/authorize?") },
      {
        name: "far",
        url: place.server.url,
        issuer: place.authorization.url,
        expiresAt: expect.any(String),
        isRenewable: true,
      },
    ]);
  });

  it("says why it failed", async () => {
    await using place = await start({ answer: { error: "access_denied" } });

    await expect(logIn(place.user)).rejects.toMatchObject({
      code: "LOGIN_REQUIRED",
      message: 'Cannot log in to the MCP server "far": the authorization server says access_denied.',
    });
    expect(listLogins(place.user)).toEqual([]);
  });

  it.each([
    ["a private address", "https://10.0.0.1/token", "10.0.0.1:443"],
    ["an address of the cloud", "https://169.254.169.254/token", "169.254.169.254:443"],
  ])("sends no code to %s that an authorization server names", async (_, endpoint, target) => {
    await using place = await start({ metadata: { token_endpoint: endpoint } });

    await expect(logIn(place.user)).rejects.toThrow(
      `${target} may not be reached: it is an address that nothing names.`,
    );
    expect(listLogins(place.user)).toEqual([]);
  });

  it("ends after its time", async () => {
    await using place = await start();

    await expect(place.run(["login", "far", "--timeout", "1ms"])).rejects.toMatchObject({ code: "TIMED_OUT" });
    await expect(place.run(["login", "far", "--timeout", "soon"])).rejects.toThrow("Expected --timeout to be");
  });

  it("is for servers over HTTP that are allowed", async () => {
    using user = createInstallUser();
    const mcpServers = { near: { command: "x" }, far: { url: "https://example.com/mcp" } };
    const run = setUp(user, { agent: { mcpServers }, config: allow({ near: { run: "host" } }) });
    await allowAtTerminal(user, ["near"]);

    await expect(run(["login", "near"])).rejects.toThrow("is a program, which logs in by itself");
    await expect(run(["login", "far"])).rejects.toThrow("it is not allowed");
    await expect(run(["login", "none"])).rejects.toThrow("No agent's file has an MCP server");
  });
});

describe("budgie mcp logout", () => {
  it("removes the tokens and ends them, also those of a server that no file names any more", async () => {
    await using place = await start();
    const { authorization, run, user } = place;
    await logIn(user);
    setUp(user, { agent: {} });

    expect(await run(["logout", "far"])).toEqual({
      exitCode: 0,
      stdout: `Logged out of "far", ${place.server.url}\n`,
    });
    expect(listLogins(user)).toEqual([]);
    expect(authorization.revoked).toHaveLength(2);
    await expect(run(["logout", "far"])).rejects.toThrow('There is no login to an MCP server "far".');
  });

  it("sends no token to a private address that an authorization server names", async () => {
    await using place = await start({ metadata: { revocation_endpoint: "https://10.0.0.1/revoke" } });
    const { home, project } = place.user;
    await logIn(place.user);
    const reports: string[] = [];
    const host = toSilentHost({ home, cwd: project, report: (line) => void reports.push(line) });

    await runCli(["mcp", "logout", "far", "--config", join(project, "budgie.json")], host);

    expect(reports).toEqual([expect.stringContaining("10.0.0.1:443 may not be reached")]);
    expect(listLogins(place.user)).toEqual([]);
  });

  it("is for the server of one agent with --agent", async () => {
    await using place = await start();
    await using other = await startMockServer({ authorization: place.authorization, tools: [{ name: "echo" }] });
    const { run, server, user } = place;
    const mcp = { far: { run: "host" } };
    const second = { name: "second", description: "sub-agent: Codes.", mcpServers: { far: { url: other.url } } };
    user.write(join(user.home, ".kiro/agents/second.json"), JSON.stringify(second));
    user.write(join(user.project, "budgie.json"), JSON.stringify({ agents: { coder: { mcp }, second: { mcp } } }));
    for (const agent of ["coder", "second"]) await logIn(user, ["--agent", agent]);

    const logouts = [await run(["logout", "far", "--agent", "second"]), await run(["logout", "far"])];

    expect(logouts.map(({ stdout }) => stdout)).toEqual([
      `Logged out of "far", ${other.url}\n`,
      `Logged out of "far", ${server.url}\n`,
    ]);
    await expect(run(["logout", "far", "--agent", "second"])).rejects.toThrow(
      'There is no login to an MCP server "far" that the agent "second" may use.',
    );
    await expect(run(["logout", "far", "--agent", "nobody"])).rejects.toMatchObject({ code: "AGENT_NOT_FOUND" });
  });

  it("needs no file that is broken", async () => {
    await using place = await start();
    await logIn(place.user);
    setUp(place.user, { agent: { includeMcpJson: true } });
    place.user.write(join(place.user.home, ".kiro/settings/mcp.json"), "{");

    expect(await place.run(["logout", "far"])).toMatchObject({ exitCode: 0 });
    expect(place.authorization.revoked).toHaveLength(2);
  });

  it("exits with 1 if the tokens may be valid still", async () => {
    await using place = await start({ revocationStatus: 500 });
    await logIn(place.user);

    const { exitCode, stdout } = await place.run(["logout", "far", "--json"]);

    const problem = "the authorization server answered with the status 500";
    expect([exitCode, JSON.parse(stdout)]).toEqual([1, [{ name: "far", url: place.server.url, problem }]]);
    expect(listLogins(place.user)).toEqual([]);
  });
});
