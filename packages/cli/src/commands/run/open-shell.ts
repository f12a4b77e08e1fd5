import { once } from "node:events";
import { BudgieError, type AgentProcess, type Command } from "@budgie/core";
import { findExitFailure, type Protocol, type Terminal } from "@budgie/core/protocol";
import type { Host, HostTerminal } from "@budgie/mcp-server";
import { createBuildCommand, type BuildCommand } from "@budgie/mcp-server/commands";
import type { Config } from "../../config/config.ts";
import { callAgent, type CallOptions } from "./call-agent.ts";
import { printEnd } from "./print-end.ts";

/** Runs `budgie shell`: a shell for a person in an agent's sandbox. Resolves to the shell's exit code. */
export async function openShell(config: Config, options: CallOptions, host: Host): Promise<number> {
  if (config.cluster !== undefined) {
    throw new BudgieError(
      "CONFIG_INVALID",
      'On a cluster "budgie shell" has no terminal. Run single commands with "budgie exec AGENT -- COMMAND", or add --runner docker.',
    );
  }
  const { terminal } = host;
  if (terminal === undefined) {
    throw new BudgieError(
      "CONFIG_INVALID",
      '"budgie shell" needs a terminal. For a command without one: "budgie exec AGENT -- COMMAND".',
    );
  }
  return callAgent(
    config,
    {
      ...options,
      client: "budgie shell",
      readPrompt: async () => "shell",
      createProtocol: (checked) => createShellProtocol({ build: createBuildCommand(checked, host), host, terminal }),
      print: (turn, log) => printEnd(turn, log, host),
    },
    host,
  );
}

type Shell = { readonly build: BuildCommand; readonly host: Host; readonly terminal: HostTerminal };

// The engine gives a program on a terminal the sandbox's own variables only. So a first process writes the agent's into the sandbox's
// memory, and stays as long as the shell does.
const VARIABLES = "/tmp/.budgie-variables";
const HOLD = 'umask 077; export -p >"$0" && echo ready && exec sleep 2147483647';
const BEGIN = '. "$0"; rm -f "$0"; if command -v bash >/dev/null; then exec bash; else exec sh; fi';

/** Creates the protocol that connects a person's terminal to a shell. It has no time limit. */
function createShellProtocol({ build, host, terminal }: Shell): Protocol {
  return async (turn) => {
    const { agent, directory, session, signal, timeoutMs } = turn;
    const command = build(turn, ["/bin/sh", "-c", HOLD, VARIABLES]);
    const child = await session.start(command, { directory, input: "", signal });
    child.stderr.resume();
    let exitCode: number | undefined;
    try {
      // Its only line, or the end of a process that could not write the variables.
      await Promise.race([once(child.stdout, "data"), child.exit]);
      child.stdout.resume();
      exitCode = await connect(await openTerminal(child, host, terminal), host, terminal);
    } finally {
      await child.stop("shutdown");
    }
    const { oomKilled, reason } = await child.exit;
    const context = { agent: agent.name, program: "/bin/sh", timeoutMs };
    // A shell that has ended by itself is no failure of budgie's.
    const failure = exitCode === undefined ? findExitFailure({ reason: reason ?? "shutdown" }, context) : undefined;
    if (failure !== undefined) throw failure;
    const exit = { exitCode, signal: undefined, reason: undefined, oomKilled };
    return { response: "", file: undefined, exit, denied: [], warnings: [] };
  };
}

async function openTerminal(child: AgentProcess, { env }: Host, terminal: HostTerminal): Promise<Terminal> {
  const { TERM: given = "" } = env;
  const type = /^[\w.+-]{1,40}$/.test(given) ? given : "xterm";
  const argv: Command["argv"] = ["env", "-i", `TERM=${type}`, "/bin/sh", "-c", BEGIN, VARIABLES];
  const opened = await child.openTerminal?.(argv, terminal.size());
  if (opened === undefined) throw new BudgieError("RUNNER_UNAVAILABLE", "This runner opens no terminals.");
  return opened;
}

/** Connects a person's terminal to one in the sandbox until that is closed. Resolves to the exit code of its program. */
async function connect(inside: Terminal, { stdin, stdout }: Host, terminal: HostTerminal): Promise<number | undefined> {
  const { exitCode, stream } = inside;
  const type = (keys: Buffer): void => void stream.write(keys);
  const stopFollowing = terminal.onResize(() => void inside.resize(terminal.size()));
  terminal.setRaw(true);
  try {
    stdin.on("data", type);
    stream.pipe(stdout, { end: false });
    return await exitCode;
  } finally {
    stdin.off("data", type);
    stdin.pause();
    stopFollowing();
    terminal.setRaw(false);
  }
}
