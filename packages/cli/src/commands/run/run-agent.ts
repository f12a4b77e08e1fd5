import { realpathSync } from "node:fs";
import { resolve } from "node:path";
import { text } from "node:stream/consumers";
import { BudgieError, createOwner, type Agent } from "@budgie/core";
import { checkSandboxOptions, type Host } from "@budgie/mcp-server";
import { withKagentAgent, loadTools, createRunner, createTurns, type Turns } from "@budgie/mcp-server/commands";
import type { Config } from "../../config/config.ts";
import { findAgent } from "../../agents/find-agent.ts";
import { interruptible } from "../../process/interruptible.ts";
import { expandId } from "../../terminal/expand-id.ts";
import { createLiveLine } from "../../terminal/live-line.ts";
import { isLively } from "../../terminal/style.ts";
import { findLastSession } from "./find-last-session.ts";
import { createLiveStatus } from "./live-status.ts";
import { printJson, printReply } from "./print-reply.ts";

export type RunAgentOptions = {
  /** The agent's name, in any spelling */
  readonly agent: string;
  /** `-` for the text on stdin */
  readonly prompt: string;
  /** Relative to the current directory */
  readonly directory: string;
  readonly session?: string | undefined;
  /** Resumes the last session of the agent and directory */
  readonly continue: boolean;
  readonly json: boolean;
};

/** Runs `budgie run`: one turn, with its answer on stdout and everything else on stderr. Resolves to the exit code. */
export async function runAgent(given: Config, options: RunAgentOptions, host: Host): Promise<number> {
  if (options.continue && options.session !== undefined) {
    throw new BudgieError("CONFIG_INVALID", "Expected --session ID or --continue, and not both.");
  }
  const named = resolve(host.cwd, options.directory);
  const directory = resolvePath(named);
  // Without allowed roots, the user's own choice is the root. A path through a symlink is not: an agent may have made the symlink.
  const allowRoot = given.allowRoot.length > 0 || directory !== named ? given.allowRoot : [directory];
  const checked: Config = { ...given, allowRoot, keepSessions: true, warmIdleMs: 0, ahead: 0 };
  checkSandboxOptions(checked, host);
  const config = await withKagentAgent(options.agent, checked, host);
  const { name: agent, remote } = findUsableAgent(options.agent, config, host);
  const isRemote = remote !== undefined;
  const prompt = options.prompt === "-" ? await text(host.stdin) : options.prompt;

  return interruptible(host, async (signal) => {
    const line = createLiveLine(host.stderr, options.json ? undefined : findLiveColumns(host));
    const quiet: Host = {
      ...host,
      report(words) {
        line.clear();
        host.report(words);
      },
    };
    const turns = await openTurns(config, quiet);
    try {
      const isolation = isRemote ? "remote" : config.sandbox ? "container" : "none";
      const sessionId = options.continue
        ? await findLastSession(turns.register, { agent, directory, isolation })
        : await expandSession(turns.register, options.session);
      const { clear, events } = createLiveStatus(line);
      turns.sweeper.begin();
      const turn = turns
        .runTurn(() => CLIENT)({ agent, prompt, directory: named, sessionId }, { events, signal })
        .finally(clear);
      return await (options.json ? printJson : printReply)(turn, turns.runLog, quiet);
    } finally {
      await turns.close();
      signal.throwIfAborted();
    }
  });
}

/** Returns the id of the session that begins with this. */
async function expandSession(register: Turns["register"], text: string | undefined): Promise<string | undefined> {
  if (text === undefined) return undefined;
  return expandId(
    text,
    (await register.list()).map(({ id }) => id),
  );
}

/** The client in `budgie ps` */
const CLIENT = "budgie run";

async function openTurns(config: Config, host: Host): Promise<Turns> {
  const owner = createOwner({ stateDir: config.stateDir, isolation: config.sandbox ? "container" : "none" });
  const runner = await createRunner(config, host, owner);
  try {
    // Problems of other agents do not matter here, and the reply has those of this one.
    return await createTurns({ config, host, owner, runner, origin: "run", reportAgents: () => undefined });
  } catch (error) {
    await runner.close();
    throw error;
  }
}

/** Finds the agent. Reports the problems of all agents if there is none. */
function findUsableAgent(wanted: string, config: Config, host: Host): Agent {
  const { accepted, loaded } = loadTools(config, { ...host, report: () => undefined });
  try {
    return findAgent(accepted.agents, wanted, config);
  } catch (error) {
    for (const problem of [...loaded.problems, ...accepted.refusals]) host.report(problem);
    throw error;
  }
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

/** Returns the width of a terminal on stderr that shows lines that change. */
function findLiveColumns({ env, stderrColumns: columns }: Host): number | undefined {
  return isLively({ env, columns }) ? columns : undefined;
}
