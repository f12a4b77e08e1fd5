import { createHash, randomUUID } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { Transform } from "node:stream";
import {
  createSessionId,
  type Agent,
  type Command,
  type Runner,
  type RunnerSession,
  type SessionId,
} from "@budgie/core";
import { KIRO_HIDDEN_PATHS } from "@budgie/core/policy";
import { TurnEvents, type Protocol } from "@budgie/core/protocol";
import { startAddressServer, type AddressServer } from "./address-server.ts";
import { collect, limitSignal, type Ran } from "./collect.ts";
import type { FakeHome } from "./fake-home.ts";
import type { LabNetwork } from "./lab-network.ts";
import { EXCESSES, excessiveServer, scriptedServer } from "./scripted-server.ts";

/** Wraps a protocol like budgie, so that an agent gets the MCP servers of its file that a configuration file allows. */
export type ServeAgents = (protocol: Protocol, place: ServingPlace) => Protocol;

export type ServingPlace = {
  readonly home: string;
  readonly stateDir: string;
  readonly configFile: string;
  readonly runner: Runner;
};

/** Two agents whose files name MCP servers, each in a session of its own. */
export type LabServers = {
  readonly attacker: ServedAgent;
  readonly victim: ServedAgent;
  /** An agent whose servers are named after the messages that they send too many of; created on the first call */
  readonly hostile: () => Promise<HostileAgent>;
};

export type HostileAgent = Pick<ServedAgent, "run"> & {
  /** Returns the number of bytes that budgie has read from a server. */
  readonly heard: (server: string) => number;
};

export type ServedAgent = {
  readonly session: RunnerSession;
  /** The sessions of its servers in sandboxes */
  readonly serverSessions: ReadonlySet<SessionId>;
  /** The agent's file, as its user wrote it */
  readonly file: string;
  /** The prefix of each tool's answer, before the tool's name */
  readonly evidence: string;
  /** The secrets of its servers: a variable, a header, and the token of a login */
  readonly secrets: readonly string[];
  /** Runs a program like the agent. */
  readonly run: (argv: Command["argv"], options?: { readonly directory?: string | undefined }) => Promise<Ran>;
};

type Dependencies = {
  readonly serveAgents: ServeAgents | undefined;
  readonly host: FakeHome;
  readonly runner: Runner;
  readonly network: LabNetwork;
  readonly keep: (made: AsyncDisposable) => void;
  readonly signal: AbortSignal | undefined;
};

/** The report that agents have no MCP servers, because the engine is elsewhere and its sandboxes cannot reach budgie. */
export const NO_SERVERS = "this engine's sandboxes have no MCP servers";

/** The tools of each server in a sandbox. Configuration, agent file and entry together allow only `open` and `run`. */
const TOOLS = ["open", "run", "unlisted", "unnamed", "disabled"];

/** Creates the agents. Their servers start with the first programs that they run. */
export async function createLabServers(parts: Dependencies): Promise<LabServers> {
  const far = await startAddressServer();
  parts.keep(far);
  const create = async (name: string): Promise<ServedAgent> => {
    const evidence = `called-${randomUUID()}`;
    const { secrets, ...setting } = await createEntries({ ...parts, evidence, far });
    return { ...(await createAgent(name, setting, parts)), evidence, secrets };
  };
  let hostile: Promise<HostileAgent> | undefined;
  return {
    attacker: await create("served"),
    victim: await create("served-too"),
    hostile: () => (hostile ??= createHostile(parts)),
  };
}

async function createHostile(parts: Dependencies): Promise<HostileAgent> {
  const heard = new Map<string, number>();
  const mcpServers = Object.fromEntries(EXCESSES.map((excess) => [excess, excessiveServer(excess)]));
  const mcp = Object.fromEntries(EXCESSES.map((excess) => [excess, {}]));
  const runner = countOutput(parts.runner, heard);
  const agent = await createAgent("hostile", { mcp, mcpServers, tools: ["@*"] }, { ...parts, runner });
  // The first turn holds up all others, so it must not be an attack, which may last as long as a turn.
  await agent.run(["/bin/true"]);
  return { ...agent, heard: (server) => heard.get(server) ?? 0 };
}

/** Returns a runner that counts the bytes read from each program, by the program's last argument. */
function countOutput(runner: Runner, heard: Map<string, number>): Runner {
  return {
    ...runner,
    async openSession(id, options) {
      const session = await runner.openSession(id, options);
      return {
        ...session,
        async start(command, options) {
          const child = await session.start(command, options);
          const name = command.argv.at(-1) ?? "";
          const stdout = new Transform({
            transform(chunk: Buffer, _, done) {
              heard.set(name, (heard.get(name) ?? 0) + chunk.length);
              done(undefined, chunk);
            },
          });
          return { ...child, stdout: child.stdout.pipe(stdout) };
        },
      };
    },
  };
}

type AgentSetting = { readonly mcp: object; readonly mcpServers: object; readonly tools: readonly string[] };

async function createAgent(name: string, { mcp, mcpServers, tools }: AgentSetting, parts: Dependencies) {
  const { host, network, runner, serveAgents } = parts;
  if (serveAgents === undefined) throw new Error("nothing here gives an agent MCP servers");
  const file = join(host.agentsDir, `${name}.json`);
  const configFile = join(host.stateDir, `${name}.json`);
  await writeFile(file, JSON.stringify({ name, tools, allowedTools: tools, mcpServers }));
  await writeFile(configFile, JSON.stringify({ agents: { [name]: { mcp } } }));
  const session = await runner.openSession(createSessionId());
  if (session.serve === undefined) throw new Error(NO_SERVERS);
  const runProgram: Protocol = async ({ agent, directory, prompt, session: own, signal }) => {
    const shown = { source: agent.shown ?? agent.file, home: `.kiro/agents/${basename(agent.file)}` };
    const argv = JSON.parse(prompt) as Command["argv"];
    const command = { argv, env: {}, projections: [shown], hidden: KIRO_HIDDEN_PATHS };
    const access = { workspace: "rw" as const, egress: network.policy, limits: {} };
    const ran = await collect(await own.start(command, { directory, access, input: "", signal }));
    return { response: JSON.stringify(ran), file: undefined, exit: ran.exit, denied: [], warnings: [] };
  };
  const serverSessions = new Set<SessionId>();
  const openSession: Runner["openSession"] = async (id, options) => {
    const opened = await runner.openSession(id, options);
    serverSessions.add(id);
    return opened;
  };
  const place = { home: host.path, stateDir: host.stateDir, configFile, runner: { ...runner, openSession } };
  const serve = serveAgents(runProgram, place);
  const runTurn: ServedAgent["run"] = async (argv, { directory = host.project } = {}) => {
    const agent = { name, file } as Agent;
    const events = new TurnEvents();
    const turn = { agent, session, directory, resume: false, timeoutMs: TURN_LIMIT_MS, events };
    const call = { ...turn, prompt: JSON.stringify(argv), signal: limitSignal(TURN_LIMIT_MS, parts.signal) };
    return JSON.parse((await serve(call)).response) as Ran;
  };
  let first: Promise<Ran> | undefined;
  const run: ServedAgent["run"] = async (argv, options) => {
    if (first === undefined) return (first = runTurn(argv, options));
    // Waits only for the first turn, which starts the servers for the others; budgie runs a session's turns one at a time.
    await first.catch(() => undefined);
    return runTurn(argv, options);
  };
  return { session, serverSessions, file, run };
}

// The servers start with the first turn.
const TURN_LIMIT_MS = 90_000;

type EntryParts = Pick<Dependencies, "host" | "network"> & { readonly evidence: string; readonly far: AddressServer };

/** Creates the entries of an agent's servers, the configuration that allows some of their tools, and their secrets. */
async function createEntries({ evidence, far, host, network: { webPort } }: EntryParts) {
  const canary = (of: string): string => `canary-server-${of}-${randomUUID()}`;
  const [variable, header, token] = [canary("variable"), canary("header"), canary("token")];
  const scripted = {
    ...scriptedServer(TOOLS, { EVIDENCE: evidence, SECRET: variable }),
    disabledTools: ["disabled"],
  };
  const login = { url: far.urlOf({ header: "authorization", value: `Bearer ${token}`, evidence }) };
  await storeLogin({ name: "login", ...login, token }, host);
  const named = TOOLS.filter((tool) => tool !== "unnamed");
  const tools = named.flatMap((tool) => [`@shell/${tool}`, `@hidden/${tool}`]);
  return {
    tools: [...tools, "@far", "@login"],
    mcpServers: {
      shell: scripted,
      hidden: scripted,
      far: { url: far.urlOf({ header: "x-key", value: header, evidence }), headers: { "x-key": header } },
      login,
    },
    mcp: {
      // A host of its own, so that it has egress.
      shell: { tools: ["open", "run", "unnamed", "disabled"], allowHost: [`server.test:${webPort}=127.0.0.1`] },
      far: {},
      login: {},
    },
    secrets: [variable, header, token],
  };
}

/** Writes a login as `budgie mcp login` leaves it. */
async function storeLogin(
  { name, token, url }: { readonly name: string; readonly url: string; readonly token: string },
  { stateDir }: FakeHome,
): Promise<void> {
  const folder = join(stateDir, "mcp", "logins");
  const id = createHash("sha256")
    .update(JSON.stringify([name, url, []]))
    .digest("hex")
    .slice(0, 32);
  const login = { name, url, scopes: [], issuer: new URL(url).origin, client: { client_id: "lab" } };
  const tokens = { access_token: token, token_type: "Bearer" };
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeFile(join(folder, `${id}.json`), JSON.stringify({ ...login, tokens }), { mode: 0o600 });
}
