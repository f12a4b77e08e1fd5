import { once } from "node:events";
import { BudgieError, type AgentProcess, type Command } from "@budgie/core";
import { findExitFailure, type Protocol, type ProtocolTurn, type Terminal } from "@budgie/core/protocol";
import type { Host, HostTerminal } from "@budgie/mcp-server";
import { createBuildCommand, type BuildCommand } from "@budgie/mcp-server/commands";
import type { Config } from "../../config/config.ts";
import { callAgent, type CallOptions } from "./call-agent.ts";
import { printEnd } from "./print-end.ts";

/** Runs `budgie shell`: a shell for a person in an agent's sandbox. Resolves to the shell's exit code. */
export async function openShell(config: Config, options: CallOptions, host: Host): Promise<number> {
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
      createProtocol(checked) {
        const isInPod = checked.cluster !== undefined;
        return createShellProtocol({ build: createBuildCommand(checked, host), host, terminal, isInPod });
      },
      print: (turn, log) => printEnd(turn, log, host),
    },
    host,
  );
}

type Shell = {
  readonly build: BuildCommand;
  readonly host: Host;
  readonly terminal: HostTerminal;
  /** True if the sandbox is a Pod */
  readonly isInPod: boolean;
};

/** Creates the protocol that connects a person's terminal to a shell. It has no time limit. */
function createShellProtocol(shell: Shell): Protocol {
  const { host, isInPod, terminal } = shell;
  return async (turn) => {
    const child = await (isInPod ? startInPod(turn, shell) : startHolder(turn, shell));
    let exitCode: number | undefined;
    try {
      exitCode = await connect(child.terminal ?? (await openTerminal(child, host, terminal)), host, terminal);
    } finally {
      await child.stop("shutdown");
    }
    const { oomKilled, reason } = await child.exit;
    const context = { agent: turn.agent.name, program: "/bin/sh", timeoutMs: turn.timeoutMs };
    // A shell that has ended by itself is no failure of budgie's.
    const failure = exitCode === undefined ? findExitFailure({ reason: reason ?? "shutdown" }, context) : undefined;
    if (failure !== undefined) throw failure;
    const exit = { exitCode, signal: undefined, reason: undefined, oomKilled };
    return { response: "", file: undefined, exit, denied: [], warnings: [] };
  };
}

const BEGIN = "if command -v bash >/dev/null; then exec bash; else exec sh; fi";

/** Starts the shell itself on a terminal: no other process of the session can run beside one in a Pod. */
async function startInPod(turn: ProtocolTurn, { build, host, terminal }: Shell): Promise<AgentProcess> {
  const { directory, session, signal } = turn;
  const command = build(turn, ["/bin/sh", "-c", `export TERM="$0"; ${BEGIN}`, findTerminalType(host)]);
  const child = await session.start(command, { directory, signal, terminal: terminal.size() });
  // Its first bytes may be the reason why there is no terminal.
  child.stderr.once("data", (text: Buffer) => void host.stderr.write(text)).resume();
  return child;
}

// An engine gives a program on a terminal the sandbox's own variables only. So a first process writes the agent's into the sandbox's
// memory, and stays as long as the shell does.
const VARIABLES = "/tmp/.budgie-variables";
const HOLD = 'umask 077; export -p >"$0" && echo ready && exec sleep 2147483647';

async function startHolder(turn: ProtocolTurn, { build }: Shell): Promise<AgentProcess> {
  const { directory, session, signal } = turn;
  const command = build(turn, ["/bin/sh", "-c", HOLD, VARIABLES]);
  const child = await session.start(command, { directory, input: "", signal });
  child.stderr.resume();
  return child;
}

/** Opens a terminal beside the first process, once that has written the variables. */
async function openTerminal(child: AgentProcess, host: Host, terminal: HostTerminal): Promise<Terminal> {
  // Its only line, or the end of a process that could not write the variables.
  await Promise.race([once(child.stdout, "data"), child.exit]);
  child.stdout.resume();
  const script = `. "$0"; rm -f "$0"; ${BEGIN}`;
  const argv: Command["argv"] = ["env", "-i", `TERM=${findTerminalType(host)}`, "/bin/sh", "-c", script, VARIABLES];
  const opened = await child.openTerminal?.(argv, terminal.size());
  if (opened === undefined) throw new BudgieError("RUNNER_UNAVAILABLE", "This runner opens no terminals.");
  return opened;
}

function findTerminalType({ env }: Host): string {
  const { TERM: given = "" } = env;
  return /^[\w.+-]{1,40}$/.test(given) ? given : "xterm";
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
