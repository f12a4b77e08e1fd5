import type { Command } from "commander";
import type { CallOptions } from "./call-agent.ts";
import type { ExecOptions } from "./exec-command.ts";
import type { RunAgentOptions } from "./run-agent.ts";
import type { ShowOutputOptions } from "./show-output.ts";

type RunActions = {
  readonly run: (options: RunAgentOptions) => Promise<void>;
  readonly exec: (options: ExecOptions) => Promise<void>;
  readonly shell: (options: CallOptions) => Promise<void>;
  readonly list: (options: { readonly json: boolean }) => Promise<void>;
  readonly output: (options: ShowOutputOptions) => Promise<void>;
  readonly stop: (ids: readonly string[]) => Promise<void>;
};

type CallArguments = Partial<Pick<CallOptions, "continue" | "directory" | "session">>;

type RunArguments = CallArguments & { readonly budget?: string; readonly json?: boolean };

/** Adds `budgie run`, `exec`, `shell`, `ps`, `logs` and `stop`. */
export function addRunCommands(program: Command, { exec, list, output, run, shell, stop }: RunActions): void {
  addCallOptions(program.command("run"))
    .argument("<agent>", "an agent, by its name or its tool's name")
    .argument("<prompt>", "the prompt, or - to read it from stdin")
    .summary("ask an agent in a sandbox, and print its answer")
    .description(
      "Asks an agent once, in a sandbox unless --no-sandbox is given, and prints its answer to stdout. All else is on " +
        "stderr. The options of the server hold here too. Ctrl-C cancels the turn. The session stays for --session-ttl.",
    )
    .option(
      "--budget <amounts>",
      'the most that it may use, such as "2 credits" or "1 USD", if that is less than configured',
    )
    .option("--json", "print JSON: the answer, the session and the facts that an MCP client gets")
    .action((agent: string, prompt: string, { budget, json = false, ...given }: RunArguments) =>
      run({ ...toCallOptions(agent, given), prompt, json, budget }),
    );
  addCallOptions(program.command("exec"))
    .argument("<agent>", "the agent whose sandbox it is")
    .argument("<command...>", 'the command and its arguments, behind "--" if they begin with a dash')
    .summary("run a command of your own in an agent's sandbox")
    .description(
      "Runs a command in the sandbox that the agent would have: its image, directory, network, limits, variables, login and " +
        "session, without the agent's MCP servers and its time limit. Its output and exit code are the command's.",
    )
    .option("-i, --interactive", "read stdin to its end, and give the command this text")
    .action((agent: string, argv: [string, ...string[]], given: CallArguments & { readonly interactive?: boolean }) =>
      exec({ ...toCallOptions(agent, given), argv, interactive: given.interactive ?? false }),
    );
  addCallOptions(program.command("shell"))
    .argument("[agent]", "the agent whose sandbox it is; the only agent by default")
    .summary("open a shell in an agent's sandbox")
    .description(
      "Opens a shell in the sandbox that the agent would have, as exec runs a command. Programs there reach your terminal as " +
        "they please. When it ends, budgie reports what was refused and which files your machine would run.",
    )
    .action((agent: string | undefined, given: CallArguments) => shell(toCallOptions(agent, given)));
  program
    .command("ps")
    .summary("list the turns that wait or run now")
    .description(
      'Lists the turns that wait or run now in all servers of this user, and those of "budgie run", the oldest first: ' +
        "agent, client, session, processor time, memory, and container or process.",
    )
    .option("--json", "print JSON, with whole ids")
    .action(({ json = false }: { readonly json?: boolean }) => list({ json }));
  program
    .command("logs")
    .argument("[run]", 'a run\'s id as "budgie ps" shows it, or its beginning; the only turn by default')
    .summary("print what the agent of a turn has printed")
    .description(
      'Prints what the agent of a running turn has printed so far, and of an ended one the end of it if "keepTranscripts" is set. ' +
        '"budgie runs show" has the answers of ended ones.',
    )
    .option("-f, --follow", "go on until the turn ends")
    .action((id: string | undefined, { follow = false }: { readonly follow?: boolean }) => output({ id, follow }));
  program
    .command("stop")
    .argument("[run...]", 'ids of runs as "budgie ps" shows them, or their beginnings; the only turn by default')
    .summary("cancel turns that wait or run")
    .description("Cancels turns, whichever server runs them, and waits until they have ended. Their callers are told.")
    .action((ids: readonly string[]) => stop(ids));
}

function addCallOptions(command: Command): Command {
  return command
    .option("-C, --directory <dir>", "the directory to work in; the current one by default")
    .option("--session <id>", "resume this session, by its id or its beginning")
    .option("--continue", "resume the last session that these commands had with the agent in the directory");
}

function toCallOptions<Name extends string | undefined>(
  agent: Name,
  { continue: isContinued = false, directory = ".", session }: CallArguments,
): CallOptions & { readonly agent: Name } {
  return { agent, directory, session, continue: isContinued };
}
