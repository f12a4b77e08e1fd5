import type { Command } from "commander";
import { loadAgents } from "@budgie/core";
import { runBuildImage } from "./commands/build-image-command.ts";
import { parseConfig, toConfigFile, type Config } from "./config/config.ts";
import { runDoctor } from "./commands/doctor/doctor-command.ts";
import { addAgents } from "./commands/agents/agents-commands.ts";
import { addMcp } from "./commands/mcp/mcp-commands.ts";
import { listAgents } from "./commands/agents/list-agents.ts";
import { AGENT_PRESET_NAMES } from "./agents/agent-presets.ts";
import { addEgress } from "./commands/egress/egress-commands.ts";
import { explainEgress } from "./commands/egress/egress-explain.ts";
import { suggestEgress } from "./commands/egress/egress-suggest.ts";
import { addBuildImage, addDoctor, addGc } from "./commands/engine-commands.ts";
import { exportSession } from "./commands/sessions/export-session.ts";
import { runGc } from "./garbage/gc-command.ts";
import { addHelp } from "./commands/help-commands.ts";
import { addInstall } from "./commands/install/install-commands.ts";
import { listRuns } from "./commands/runs/list-runs.ts";
import { listSessions } from "./commands/sessions/list-sessions.ts";
import { addListTools, listTools } from "./commands/list-tools.ts";
import { removeRuns } from "./commands/runs/remove-runs.ts";
import { removeSessions } from "./commands/sessions/remove-sessions.ts";
import { listLiveRuns } from "./commands/run/list-live-runs.ts";
import { addRun } from "./commands/run/run-commands.ts";
import { showOutput } from "./commands/run/show-output.ts";
import { stopRuns } from "./commands/run/stop-runs.ts";
import { addRuns } from "./commands/runs/runs-commands.ts";
import { addServe, checkServerOptions, refuseMisplaced, type CommandContext } from "./serve-command.ts";
import { toServerValues } from "./commands/server-options.ts";
import { addSessions } from "./commands/sessions/sessions-commands.ts";
import { showRun } from "./commands/runs/show-run.ts";
import { addCompletion } from "./commands/completion.ts";
import { addConfig } from "./commands/config-commands.ts";
import { CLIENT_NAMES } from "./commands/install/clients.ts";
import { loadVersion } from "./process/version.ts";

/** Adds the commands, in the order and the groups of the help text. */
export function addCommands(program: Command, context: CommandContext): Command {
  const { config, createProgram, finish, host } = context;
  program.commandsGroup("Set up:");
  addInstall(program, {
    async install(options) {
      refuseMisplaced(program);
      // Imported late: a server never needs it.
      const { runInstall } = await import("./commands/install/run-install.ts");
      const { findMissing } = await import("./commands/doctor/find-missing.ts");
      const check = (args: readonly string[]) => {
        const server = checkServerOptions(createProgram(), args, host);
        return async () => (server === undefined ? [] : findMissing(server, host));
      };
      finish(await runInstall({ ...options, check }, host));
    },
    async uninstall(options) {
      const { runUninstall } = await import("./commands/install/run-uninstall.ts");
      finish(runUninstall(options, host));
    },
  });
  addBuildImage(program, (options) => runBuildImage(options, host).then(finish));
  // These commands are about sandboxes, with or without --sandbox.
  const sandboxed = (): Config => parseConfig({ ...toServerValues(program, host.env), sandbox: true }, host);
  addDoctor(program, (options) => {
    const { egress } = sandboxed().policies.ceiling;
    return runDoctor(config(), { ...options, egress }, host).then(finish);
  });

  program.commandsGroup("Agents:");
  const serve = addServe(program, context);
  addAgents(program, {
    async add(options) {
      const { addAgent } = await import("./commands/agents/add-agent.ts");
      const values = toServerValues(program, host.env);
      // A new file is for sandboxes, unless the command line says otherwise.
      const parse = (exists: boolean): Config =>
        exists ? config() : parseConfig({ sandbox: true, ...values, config: undefined }, host);
      finish(addAgent({ ...options, file: toConfigFile(values, host), parse }, host));
    },
    async check(options) {
      const { checkAgents } = await import("./commands/agents/check-agents.ts");
      finish(checkAgents(config(), options, host));
    },
    list: (options) => listAgents(config(), options, host).then(finish),
  });
  addMcp(program, {
    // Imported late, as they load an MCP client.
    async list(options) {
      const { listServers } = await import("./commands/mcp/list-servers.ts");
      finish(await listServers(config(), options, host));
    },
    async tools(options) {
      const { listServerTools } = await import("./commands/mcp/list-server-tools.ts");
      finish(await listServerTools(config(), options, host));
    },
    async call(options) {
      const { callServerTool } = await import("./commands/mcp/call-server-tool.ts");
      finish(await callServerTool(config(), options, host));
    },
    async login(options) {
      const { logInToServer } = await import("./commands/mcp/log-in-to-server.ts");
      finish(await logInToServer(config(), options, host));
    },
    async logout(options) {
      const { logOutOfServer } = await import("./commands/mcp/log-out-of-server.ts");
      finish(await logOutOfServer(config(), options, host));
    },
    async logs(options) {
      const { showServerLog } = await import("./commands/mcp/show-server-log.ts");
      finish(showServerLog(config(), options, host));
    },
  });
  addListTools(program, (options) => listTools(config(), options, host).then(finish));
  addEgress(program, {
    explain: (agent, options) => explainEgress(agent, { ...options, config: sandboxed() }, host).then(finish),
    suggest: (options) => suggestEgress({ ...options, config: sandboxed() }, host).then(finish),
  });

  program.commandsGroup("Turns and sessions:");
  // A user who types the command gets the safe way without an option.
  const sandboxedByDefault = (): Config => parseConfig(toServerValues(program, host.env), host, { sandbox: true });
  addRun(program, {
    async run(options) {
      // Imported late, as it loads all that a server loads.
      const { runAgent } = await import("./commands/run/run-agent.ts");
      finish(await runAgent(sandboxedByDefault(), options, host));
    },
    list: (options) => listLiveRuns(config(), options, host).then(finish),
    output: (options) => showOutput(config(), options, host).then(finish),
    stop: (ids) => stopRuns(config(), ids, host).then(finish),
  });
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
  addGc(program, (options) => runGc(config(), options, host).then(finish));

  program.commandsGroup("This program:");
  addConfig(program, host);
  addCompletion(
    program,
    {
      agent: () => loadAgents(config()).agents.map(({ name }) => name),
      client: () => CLIENT_NAMES,
      preset: () => AGENT_PRESET_NAMES,
      with: () => AGENT_PRESET_NAMES,
    },
    host,
  );
  addHelp(program, () => void host.stdout.write(`${loadVersion()}\n`));
  return serve;
}
