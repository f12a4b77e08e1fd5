import { Command } from "commander";
import { BudgieError } from "@budgie/core";
import { runBuildImage } from "./commands/build-image-command.ts";
import { refuseRootAnywhere } from "./config/sandbox-options.ts";
import { parseConfig, type Config } from "./config/config.ts";
import { runDoctor } from "./commands/doctor/doctor-command.ts";
import { addEgress } from "./commands/egress/egress-commands.ts";
import { explainEgress } from "./commands/egress/egress-explain.ts";
import { suggestEgress } from "./commands/egress/egress-suggest.ts";
import { addBuildImage, addDoctor, addGc } from "./commands/engine-commands.ts";
import { exportSession } from "./commands/sessions/export-session.ts";
import { runGc } from "./garbage/gc-command.ts";
import { toDoubleDashed } from "./commands/go-flags.ts";
import type { Host } from "./process/host.ts";
import { addInstall } from "./commands/install/install-commands.ts";
import { handleUsageError } from "./commands/usage-error.ts";
import { listRuns } from "./commands/runs/list-runs.ts";
import { listSessions } from "./commands/sessions/list-sessions.ts";
import { listTools, type ListToolsOptions } from "./commands/list-tools.ts";
import { removeRuns } from "./commands/runs/remove-runs.ts";
import { removeSessions } from "./commands/sessions/remove-sessions.ts";
import { addRuns } from "./commands/runs/runs-commands.ts";
import { serve } from "./server/serve.ts";
import { addServerOptions, findServerOption, SERVER_FLAGS, toServerValues } from "./commands/server-options.ts";
import { addSessions } from "./commands/sessions/sessions-commands.ts";
import { showRun } from "./commands/runs/show-run.ts";
import { loadVersion } from "./process/version.ts";

/** Runs the command of a command line. Resolves to the exit code. */
export async function runCli(argv: readonly string[], host: Host): Promise<number> {
  const rewritten = toDoubleDashed(argv, SERVER_FLAGS);
  let exitCode = 0;
  const program = createProgram(host, (code) => (exitCode = code));
  await program.parseAsync(rewritten, { from: "user" });
  return exitCode;
}

type Finish = (exitCode: number) => void;

function createProgram(host: Host, finish: Finish): Command {
  const program = new Command("budgie")
    .description(
      "Offers your Kiro sub-agents as MCP tools, on stdin and stdout or over HTTP, each run in a sandbox or locally.",
    )
    .version(loadVersion())
    .configureOutput({ outputError: () => undefined, writeOut: (text) => void host.stdout.write(text) })
    .exitOverride((error) => handleUsageError(error, host));
  addServerOptions(program);

  const config = (): Config => parseConfig(toServerValues(program, host.env), host);
  addGc(program, (options) => runGc(config(), options, host).then(finish));
  addRuns(program, {
    list: (options) => listRuns(config(), options, host).then(finish),
    show: (id, options) => showRun(config(), { id, ...options }, host).then(finish),
    remove: (ids, options) => removeRuns(config(), { ids, ...options }, host).then(finish),
  });
  addSessions(program, {
    list: (options) => listSessions(config(), options, host).then(finish),
    remove: (options) => removeSessions(config(), options, host).then(finish),
    export: (options) => exportSession(config(), options, host).then(finish),
  });
  addListTools(program, (options) => finish(listTools(config(), options, host)));
  addInstall(program, {
    async install(options) {
      refuseMisplaced(program);
      // Imported late: a server never needs it.
      const { runInstall } = await import("./commands/install/run-install.ts");
      finish(runInstall({ ...options, check: (args) => checkServerOptions(args, host) }, host));
    },
    async uninstall(options) {
      const { runUninstall } = await import("./commands/install/run-uninstall.ts");
      finish(runUninstall(options, host));
    },
  });
  addBuildImage(program, (options) => runBuildImage(options, host).then(finish));
  // These commands are about sandboxes, with or without --sandbox.
  const sandboxed = (): Config => parseConfig({ ...toServerValues(program, host.env), sandbox: true }, host);
  addEgress(program, {
    explain: (agent, options) => finish(explainEgress(agent, { ...options, config: sandboxed() }, host)),
    suggest: (options) => suggestEgress({ ...options, config: sandboxed() }, host).then(finish),
  });
  addDoctor(program, (options) => {
    const { egress } = sandboxed().policies.ceiling;
    return runDoctor(config(), { ...options, egress }, host).then(finish);
  });
  // Added after the commands, which would inherit it. An operand here is an unknown command.
  return program.allowExcessArguments().action(async () => {
    refuseOperand(program.args[0]);
    finish(await serveOrPrint(config(), host));
  });
}

/** Throws for a server option before "--", which would be ignored. */
function refuseMisplaced(program: Command): void {
  const flag = findServerOption(program);
  if (flag === undefined) return;
  throw new BudgieError("CONFIG_INVALID", `Options of the server, such as ${flag}, go behind "--".`);
}

/** Throws for options that a server would refuse at its start, where no user sees it. Skips `${…}`, which the client replaces. */
function checkServerOptions(args: readonly string[], host: Host): void {
  if (args.some((argument) => argument.includes("${"))) return;
  const program = createProgram(host, () => undefined);
  const { operands, unknown } = program.parseOptions([...toDoubleDashed(args, SERVER_FLAGS)]);
  const [odd] = [...operands, ...unknown];
  if (odd !== undefined) throw new BudgieError("CONFIG_INVALID", `The server takes no "${odd}". See "budgie --help".`);
  const config = parseConfig(toServerValues(program, {}), host);
  refuseRootAnywhere(config, host);
  if (config.transport === "stdio") return;
  throw new BudgieError(
    "CONFIG_INVALID",
    "A client starts its own budgie and speaks to it over stdio, not --transport http.",
  );
}

function refuseOperand(operand: string | undefined): void {
  if (operand === undefined) return;
  throw new BudgieError("CONFIG_INVALID", `There is no command "${operand}". See "budgie --help".`);
}

async function serveOrPrint(config: Config, host: Host): Promise<number> {
  if (config.listTools || config.debug) return listTools(config, { json: config.debug, stats: false }, host);
  return serve(config, host);
}

function addListTools(program: Command, run: (options: ListToolsOptions) => void): void {
  program
    .command("list-tools")
    .description("print the tools and what they do, or what each way of offering them costs")
    .option("--stats", "print how many bytes, and about how many tokens, each of --tools costs a client")
    .option("--json", "print JSON: everything a client is told")
    .action(({ json = false, stats = false }: Partial<ListToolsOptions>) => run({ json, stats }));
}
