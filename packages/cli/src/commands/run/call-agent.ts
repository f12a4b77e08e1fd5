import { realpathSync } from "node:fs";
import { resolve } from "node:path";
import { BudgieError, createOwner, type Agent, type Reply } from "@budgie/core";
import type { Amounts } from "@budgie/core/budget";
import type { Protocol, TurnEvents } from "@budgie/core/protocol";
import { joinFirst } from "@budgie/core/text";
import { checkSandboxOptions, type Host } from "@budgie/mcp-server";
import { withKagentAgent, loadTools, createRunner, createTurns, type Turns } from "@budgie/mcp-server/commands";
import type { Config } from "../../config/config.ts";
import { findAgent } from "../../agents/find-agent.ts";
import { interruptible } from "../../process/interruptible.ts";
import { expandId } from "../../terminal/expand-id.ts";
import { findLastSession } from "./find-last-session.ts";

/** Time for which a command packs its session on a cluster at its end, when nobody waits for an answer any more. */
const CLOSE_MS = 30_000;

export type CallOptions = {
  /** The agent's name, in any spelling; `undefined` for the only one */
  readonly agent: string | undefined;
  /** Relative to the current directory */
  readonly directory: string;
  readonly session?: string | undefined;
  /** Resumes the last session of the agent and directory */
  readonly continue: boolean;
};

/** One turn of a command. */
type Call = CallOptions & {
  /** The command in `budgie ps` */
  readonly client: string;
  /** Reads what the agent is asked, once the options are checked */
  readonly readPrompt: () => Promise<string>;
  /** Creates what takes the agent's place; default: the agent itself */
  readonly createProtocol?: ((config: Config) => Protocol) | undefined;
  readonly events?: TurnEvents | undefined;
  /** The most that the call may use; default what is configured */
  readonly budget?: Amounts | undefined;
  /** Waits for the turn and prints its end. Resolves to the exit code */
  readonly print: (turn: Promise<Reply>, log: Turns["runLog"]) => Promise<number>;
};

/** Runs one turn for a person at a terminal. Resolves to the exit code. */
export async function callAgent(given: Config, call: Call, host: Host): Promise<number> {
  const { budget, client, createProtocol, events, print } = call;
  if (call.continue && call.session !== undefined) {
    throw new BudgieError("CONFIG_INVALID", "Expected --session ID or --continue, and not both.");
  }
  const named = resolve(host.cwd, call.directory);
  const directory = resolvePath(named);
  // Without allowed roots, the user's own choice is the root. A path through a symlink is not: an agent may have made the symlink.
  const allowRoot = given.allowRoot.length > 0 || directory !== named ? given.allowRoot : [directory];
  const checked = forOneTurn({ ...given, allowRoot });
  checkSandboxOptions(checked, host);
  const config = call.agent === undefined ? checked : await withKagentAgent(call.agent, checked, host);
  const { name: agent, remote } = findUsableAgent(call.agent, config, host);
  const protocol = createProtocol?.(config);
  if (protocol !== undefined && (remote !== undefined || !config.sandbox)) throw noSandbox(agent, client);
  const prompt = await call.readPrompt();

  return interruptible(host, async (signal) => {
    // Nobody but the person knows whether their command may run twice.
    const once: Config = protocol === undefined ? config : { ...config, retry: "never" };
    const turns = await openTurns(once, protocol, host);
    try {
      const isolation = remote !== undefined ? "remote" : config.sandbox ? "container" : "none";
      const sessionId = call.continue
        ? await findLastSession(turns.register, { agent, directory, isolation })
        : await expandSession(turns.register, call.session);
      turns.sweeper.begin();
      const runTurn = turns.runTurn(() => client);
      return await print(
        runTurn({ agent, prompt, directory: named, sessionId, budget }, { events, signal }),
        turns.runLog,
      );
    } finally {
      await turns.close();
      signal.throwIfAborted();
    }
  });
}

/** Keeps its session and nothing else for a next turn. */
function forOneTurn({ cluster, ...config }: Config): Config {
  const patient = cluster && { ...cluster, closeMs: CLOSE_MS };
  return { ...config, cluster: patient, keepSessions: true, warmIdleMs: 0, ahead: 0 };
}

function noSandbox(agent: string, client: string): BudgieError {
  const message = `The agent "${agent}" has no sandbox here, and "${client}" runs only in one.`;
  return new BudgieError(
    "CONFIG_INVALID",
    `${message} Leave out --no-sandbox, or name an agent that runs in a sandbox.`,
  );
}

/** Returns the id of the session that begins with this. */
async function expandSession(register: Turns["register"], text: string | undefined): Promise<string | undefined> {
  if (text === undefined) return undefined;
  return expandId(
    text,
    (await register.list()).map(({ id }) => id),
  );
}

async function openTurns(config: Config, protocol: Protocol | undefined, host: Host): Promise<Turns> {
  const owner = createOwner({ stateDir: config.stateDir, isolation: config.sandbox ? "container" : "none" });
  const runner = await createRunner(config, host, owner);
  try {
    // Problems of other agents do not matter here, and the reply has those of this one.
    return await createTurns({ config, host, owner, runner, protocol, origin: "run", reportAgents: () => undefined });
  } catch (error) {
    await runner.close();
    throw error;
  }
}

/** Finds the agent, or the only one. Reports the problems of all agents if there is none. */
function findUsableAgent(wanted: string | undefined, config: Config, host: Host): Agent {
  const { accepted, loaded } = loadTools(config, { ...host, report: () => undefined });
  try {
    return wanted === undefined ? findOnly(accepted.agents) : findAgent(accepted.agents, wanted, config);
  } catch (error) {
    for (const problem of [...loaded.problems, ...accepted.refusals]) host.report(problem);
    throw error;
  }
}

function findOnly(agents: readonly Agent[]): Agent {
  const [only, second] = agents;
  if (only !== undefined && second === undefined) return only;
  const names = joinFirst(
    agents.map(({ name }) => name),
    10,
  );
  const message = only === undefined ? "There is no agent. Write one first." : `Name an agent. There are ${names}.`;
  throw new BudgieError("AGENT_NOT_FOUND", message);
}

/** Returns the real path of the directory, by which its sessions are known. */
function resolvePath(path: string): string {
  try {
    return realpathSync.native(path);
  } catch (cause) {
    throw new BudgieError("CONFIG_INVALID", `There is no directory "${path}" for -C. Create it, or choose another.`, {
      cause,
    });
  }
}
