import type { Command } from "commander";
import type { RunAgentOptions } from "./run-agent.ts";
import type { ShowOutputOptions } from "./show-output.ts";

type RunActions = {
  readonly run: (options: RunAgentOptions) => Promise<void>;
  readonly list: (options: { readonly json: boolean }) => Promise<void>;
  readonly output: (options: ShowOutputOptions) => Promise<void>;
  readonly stop: (ids: readonly string[]) => Promise<void>;
};

type RunArguments = Partial<Pick<RunAgentOptions, "continue" | "directory" | "json" | "session">>;

/** Adds `budgie run`, `budgie ps`, `budgie logs` and `budgie stop`. */
export function addRunCommands(program: Command, { list, output, run, stop }: RunActions): void {
  program
    .command("run")
    .argument("<agent>", "an agent, by its name or its tool's name")
    .argument("<prompt>", "the prompt, or - to read it from stdin")
    .summary("ask an agent in a sandbox, and print its answer")
    .description(
      "Asks an agent once, in a sandbox unless --no-sandbox is given, and prints its answer to stdout. All else is on " +
        "stderr. The options of the server hold here too. Ctrl-C cancels the turn. The session stays for --session-ttl.",
    )
    .option("-C, --directory <dir>", "the directory to work in; the current one by default")
    .option("--session <id>", "resume this session, by its id or its beginning")
    .option("--continue", "resume the last session that this command had with the agent in the directory")
    .option("--json", "print JSON: the answer, the session and the facts that an MCP client gets")
    .action((agent: string, prompt: string, given: RunArguments) => {
      const { continue: isContinued = false, directory = ".", json = false, session } = given;
      return run({ agent, prompt, directory, session, continue: isContinued, json });
    });
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
    .summary("print what the agent of a running turn has printed")
    .description(
      'Prints what the agent of a running turn has printed so far. "budgie runs show" has the answers of ended ones.',
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
