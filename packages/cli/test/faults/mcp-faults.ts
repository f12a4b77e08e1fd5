import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { createLogins, parseServers } from "@budgie/mcp-manager";
import { startAuthorizationServer, startMockServer, toMockCommand, type MockTool } from "@budgie/testkit";
import { toShellServer } from "../../../mcp-manager/test/serving/shell-server.ts";
import { allowAll } from "../helpers/allow-servers.ts";
import type { Fault } from "./fault.ts";
import { PATIENCE_MS, type FaultPlace } from "./helpers/fault-place.ts";

const TOO_LARGE = 5 * 2 ** 20;
const CONFIG = fileURLToPath(new URL("../fixtures/faulty-servers.json", import.meta.url));

/** Faults of the MCP servers that an agent's file names. */
export const MCP_FAULTS: readonly Fault[] = [
  fault("MCP servers are missing in sandboxes, locally and remotely", async (place) => {
    const nowhere = await startMockServer();
    await nowhere[Symbol.asyncDispose]();
    const missing = { command: "there-is-no-such-program" };
    const ask = nameServers(place, { gone: missing, "gone-here": missing, refusing: { url: nowhere.url } });

    const { servers } = await askUntil(ask, ({ state }) => state === "error");

    expect(servers).toMatchObject([
      { name: "gone", run: "sandbox", error: "its command was not found in the image of its container" },
      { name: "gone-here", run: "host", error: "its command was not found" },
      { name: "refusing", run: "address", error: "it cannot be reached (ECONNREFUSED)" },
    ]);
  }),
  fault("MCP servers print anything else, or nothing", async (place) => {
    const chatty = { command: "sh", args: ["-c", "echo Welcome; exec sleep 600"] };
    const silent = { command: "sh", args: ["-c", "exec sleep 600"] };
    const ask = nameServers(place, { chatty, silent });

    const { servers } = await ask("");

    expect(servers).toMatchObject([{ tools: 0 }, { tools: 0 }]);
    expect(servers.map(({ state }) => state)).not.toContain("ready");
  }),
  fault("an MCP server dies in two calls", async (place) => {
    const ask = nameServers(place, { dying: toShellServer() });
    const kill = '[[tool @dying/sh: {"script":"kill -9 $PPID"}]]';
    await askUntil(ask, ({ state }) => state === "ready");

    const { servers, text } = await ask(kill + kill);

    expect(text).toMatch(/did not answer the tool \\"sh\\": it ended\.[^]+"isError":true[^]+"isError":true/);
    expect(servers).toMatchObject([{ state: "error", calls: 2, failed: 2, error: expect.any(String) }]);
  }),
  fault("MCP servers flood output, messages and notifications", async (place) => {
    const large = toMock([{ name: "say", does: { kind: "large", length: TOO_LARGE } }]);
    const storm = { kind: "log", count: 1e9, text: "x".repeat(100) } as const;
    const storming = { ...toMock([{ name: "say", does: storm }]), timeout: 2000 };
    const ask = nameServers(place, { endless: { command: "yes" }, large, storming });
    await askUntil(ask, ({ name, state }) => name === "endless" || state === "ready");

    const { servers, text } = await ask("[[tool @large/say]][[tool @storming/say]]");

    expect(text).toMatch(
      /"large\\" did not answer the tool .+ it ended\..+\n.+"storming\\" did not answer .+ in time\./,
    );
    expect(servers).toMatchObject([
      { name: "endless", tools: 0 },
      { name: "large", calls: 1, failed: 1 },
      { name: "storming", state: "ready", calls: 1, failed: 1 },
    ]);
  }),
  fault("MCP servers have 1,000 tools, and one more", async (place) => {
    const [many, tooMany] = [1000, 1001].map((count) => toMock(Array.from({ length: count }, toNumbered)));
    const ask = nameServers(place, { many, "too-many": tooMany });
    await askUntil(ask, ({ state }) => state !== "initializing");

    const { servers, text } = await ask('[[tool @many/t999: {"a":1}]]');

    expect(text).toContain('{\\"a\\":1}');
    expect(servers).toMatchObject([
      { name: "many", state: "ready", tools: 1000, calls: 1, failed: 0 },
      { name: "too-many", state: "error", tools: 0, error: "it has more than 1000 tools" },
    ]);
  }),
  fault("an MCP server's token expires without renewal", async (place) => {
    await using authorization = await startAuthorizationServer();
    await using far = await startMockServer({ authorization, tools: [{ name: "echo" }] });
    await logIn(place, far.url);
    const ask = nameServers(place, { far: { url: far.url } });
    await askUntil(ask, ({ state }) => state === "ready");
    authorization.expire();
    authorization.failWith("invalid_grant");

    const { servers, text } = await ask("[[tool @far/echo]]");

    expect(text).toContain('"far\\" wants a login');
    expect(servers).toMatchObject([{ name: "far", state: "needs-auth", calls: 1, failed: 1 }]);
  }),
];

const AGENT = "shell-worker";

function fault(name: string, inject: Fault["inject"]): Fault {
  return { name, on: "engine", args: ["--config", CONFIG, "--trust-all-tools"], inject };
}

type Server = { readonly name: string; readonly state: string };

/** Runs a turn with these directives, and expects its answer. */
type Ask = (first: string) => Promise<{ readonly text: string; readonly servers: readonly Server[] }>;

/** Names servers in the agent's file, and returns a function that runs turns in one session of that agent. */
function nameServers({ call, user }: FaultPlace, mcpServers: object): Ask {
  const agent = { name: AGENT, description: "sub-agent: Works.", tools: ["*"], allowedTools: ["@*"], mcpServers };
  writeFileSync(join(user.host.agentsDir, `${AGENT}.json`), JSON.stringify(agent));
  allowAll(user.host.home, CONFIG);
  let input = {};
  return async (first) => {
    const { told, word } = call({ agent: AGENT, first, input });
    const { facts, text } = await told;
    expect(text).toContain(word);
    input = { sessionId: facts["sessionId"] };
    return { text, servers: facts["mcpServers"] as readonly Server[] };
  };
}

/** Runs turns until all servers are as wanted, and returns the last answer. */
async function askUntil(ask: Ask, isWanted: (server: Server) => boolean): ReturnType<Ask> {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const answer = await ask("");
    if (answer.servers.every(isWanted) || Date.now() > end) return answer;
  }
}

function toMock(tools: readonly MockTool[]) {
  return toMockCommand({ tools, pageSize: 100 });
}

function toNumbered(_: unknown, id: number): MockTool {
  return { name: `t${id}` };
}

/** Logs the user in as `budgie mcp login` does, with a browser that opens each address at once. */
async function logIn({ user }: FaultPlace, url: string): Promise<void> {
  const folder = join(user.host.home, ".local/state/budgie/mcp/logins");
  const [server] = parseServers({ agent: { file: "", content: { mcpServers: { far: { url } } } } }).servers;
  if (server?.type !== "http") throw new Error(`There is no server at ${url}.`);
  const browse = (address: string): void => void fetch(address);
  await createLogins({ folder, clientName: "budgie" }).logIn(server, { onAddress: browse });
}
