import type { Command } from "commander";
import { runBuildImage } from "./commands/run-build-image.ts";
import { loadUserConfig, findGivenStateDir } from "./config/load-user-config.ts";
import { findConfigFile, type Config } from "./config/config.ts";
import { addAgentsCommands } from "./commands/agents/agents-commands.ts";
import { addMcpCommands } from "./commands/mcp/mcp-commands.ts";
import { listAgents } from "./commands/agents/list-agents.ts";
import { addEgressCommands } from "./commands/egress/egress-commands.ts";
import { explainEgress } from "./commands/egress/explain-egress.ts";
import { suggestEgress } from "./commands/egress/suggest-egress.ts";
import type { InstallOptions } from "./commands/install/run-install.ts";
import { addBuildImage, addDoctor, addGc, addInit } from "./commands/engine-commands.ts";
import { exportSession } from "./commands/sessions/export-session.ts";
import { runGc } from "./commands/run-gc.ts";
import { addExamples } from "./commands/examples.ts";
import { addHelpCommands } from "./commands/help-commands.ts";
import { createImageActions } from "./commands/image/image-actions.ts";
import { addImageCommands } from "./commands/image/image-commands.ts";
import { addInstallCommands } from "./commands/install/install-commands.ts";
import { listRuns } from "./commands/runs/list-runs.ts";
import { listSessions } from "./commands/sessions/list-sessions.ts";
import { addListTools, listTools } from "./commands/list-tools.ts";
import { removeRuns } from "./commands/runs/remove-runs.ts";
import { removeSessions } from "./commands/sessions/remove-sessions.ts";
import { listLiveRuns } from "./commands/run/list-live-runs.ts";
import { addRunCommands } from "./commands/run/run-commands.ts";
import { showOutput } from "./commands/run/show-output.ts";
import { stopRuns } from "./commands/run/stop-runs.ts";
import { addRunsCommands } from "./commands/runs/runs-commands.ts";
import { verifyRuns } from "./commands/runs/verify-runs.ts";
import { addServeCommand, checkServerOptions, refuseMisplaced, type CommandContext } from "./serve-command.ts";
import { listGivenOptions, readServerValues } from "./commands/server-options.ts";
import { addSessionsCommands } from "./commands/sessions/sessions-commands.ts";
import { showUsage } from "./commands/runs/show-usage.ts";
import { addUsageCommand } from "./commands/runs/usage-command.ts";
import { showRun } from "./commands/runs/show-run.ts";
import { addCompletion } from "./commands/completion.ts";
import { completionWords } from "./completion-words.ts";
import { createChangesActions } from "./commands/changes/changes-actions.ts";
import { addChangesCommands } from "./commands/changes/changes-commands.ts";
import { addConfigCommands } from "./commands/config/config-commands.ts";
import { trustFile } from "./commands/config/trust-file.ts";
import { loadVersion } from "@budgie/mcp-server";

/** Adds the commands, in the order and the groups of the help text. */
export function addCommands(program: Command, context: CommandContext): Command {
  const { config, createProgram, finish, host } = context;
  program.commandsGroup("Set up:");
  const install = async (options: Omit<InstallOptions, "check">): Promise<number> => {
    // Imported late: a server never needs it.
    const { runInstall } = await import("./commands/install/run-install.ts");
    const { findMissing } = await import("./commands/doctor/find-missing.ts");
    const check = (args: readonly string[]) => {
      const server = checkServerOptions(createProgram(), args, host);
      return async () => (server === undefined ? [] : findMissing(server, host));
    };
    return runInstall({ ...options, check }, host);
  };
  // A user who types the command gets the safe way without an option.
  const sandboxedByDefault = (): Config => loadUserConfig(readServerValues(program, host.env), host, { sandbox: true });
  addInit(program, async (options) => {
    const { runInit } = await import("./run-init.ts");
    const present = sandboxedByDefault();
    const given = listGivenOptions(program, present);
    const ofUser = { dryRun: false, force: false, scope: "user", name: "kiro-subagents" } as const;
    finish(
      await runInit(
        present,
        {
          ...options,
          given,
          file: findConfigFile(readServerValues(program, host.env), host),
          reload: sandboxedByDefault,
          install: (client, args) => install({ ...ofUser, client, args }),
        },
        host,
      ),
    );
  });
  addInstallCommands(program, {
    async install(options) {
      refuseMisplaced(program);
      finish(await install(options));
    },
    async uninstall(options) {
      const { runUninstall } = await import("./commands/install/run-uninstall.ts");
      finish(runUninstall(options, host));
    },
  });
  // These commands are about sandboxes, with or without --sandbox.
  const sandboxed = (): Config => loadUserConfig({ ...readServerValues(program, host.env), sandbox: true }, host);
  addBuildImage(program, (options) => runBuildImage({ ...options, caFile: sandboxed().caFile }, host).then(finish));
  addImageCommands(program, createImageActions({ config, finish, host, sandboxed }));
  addDoctor(program, async (options) => {
    const present = config();
    if (present.cluster !== undefined) {
      const { runClusterDoctor } = await import("./commands/cluster/run-cluster-doctor.ts");
      return finish(await runClusterDoctor({ ...present, cluster: present.cluster }, options, host));
    }
    const { runDoctor } = await import("./commands/doctor/run-doctor.ts");
    const { egress } = sandboxed().policies.ceiling;
    finish(await runDoctor(present, { ...options, egress }, host));
  });

  program.commandsGroup("Agents:");
  const serve = addServeCommand(program, context);
  addAgentsCommands(program, {
    async add(options) {
      const { addAgent } = await import("./commands/agents/add-agent.ts");
      const values = readServerValues(program, host.env);
      // A new file is for sandboxes, unless the command line says otherwise.
      const parse = (exists: boolean): Config =>
        exists ? config() : loadUserConfig({ sandbox: true, ...values, config: undefined }, host);
      finish(addAgent({ ...options, file: findConfigFile(values, host), parse }, host));
    },
    async check(options) {
      const { checkAgents } = await import("./commands/agents/check-agents.ts");
      finish(checkAgents(config(), options, host));
    },
    list: (options) => listAgents(config(), options, host).then(finish),
  });
  addMcpCommands(program, {
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
    async allow(options) {
      const { allowServer } = await import("./commands/mcp/allow-server.ts");
      finish(await allowServer(config(), options, host));
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
  addEgressCommands(program, {
    explain: (agent, options) => explainEgress(agent, { ...options, config: sandboxed() }, host).then(finish),
    suggest: (options) => suggestEgress({ ...options, config: sandboxed() }, host).then(finish),
  });

  program.commandsGroup("Turns and sessions:");
  addRunCommands(program, {
    async run(options) {
      // Imported late, as it loads all that a server loads.
      const { runAgent } = await import("./commands/run/run-agent.ts");
      finish(await runAgent(sandboxedByDefault(), options, host));
    },
    async exec(options) {
      const { execCommand } = await import("./commands/run/exec-command.ts");
      finish(await execCommand(sandboxedByDefault(), options, host));
    },
    async shell(options) {
      const { openShell } = await import("./commands/run/open-shell.ts");
      finish(await openShell(sandboxedByDefault(), options, host));
    },
    list: (options) => listLiveRuns(config(), options, host).then(finish),
    output: (options) => showOutput(config(), options, host).then(finish),
    stop: (ids) => stopRuns(config(), ids, host).then(finish),
  });
  addRunsCommands(program, {
    list: (options) => listRuns(config(), options, host).then(finish),
    show: (id, options) => showRun(config(), { id, ...options }, host).then(finish),
    remove: (ids, options) => removeRuns(config(), { ids, ...options }, host).then(finish),
    verify: (options) => verifyRuns(config(), options, host).then(finish),
  });
  addUsageCommand(program, (options) => showUsage(config(), options, host).then(finish));
  addSessionsCommands(program, {
    list: (options) => listSessions(config(), options, host).then(finish),
    remove: (options) => removeSessions(config(), options, host).then(finish),
    export: (options) => exportSession(config(), options, host).then(finish),
    async bundle(options) {
      const { bundleSession } = await import("./commands/sessions/bundle-session.ts");
      finish(await bundleSession(config(), options, host));
    },
  });
  addChangesCommands(program, createChangesActions({ config, finish, host }));
  addGc(program, (options) => runGc(config(), options, host).then(finish));

  program.commandsGroup("This program:");
  addConfigCommands(program, host, {
    async set(change) {
      const { setConfig } = await import("./commands/config/set-config.ts");
      finish(setConfig({ ...change, file: findConfigFile(readServerValues(program, host.env), host) }, host));
    },
    trust: (file) =>
      trustFile({ stateDir: findGivenStateDir(readServerValues(program, host.env), host) }, file, host).then(finish),
  });
  addCompletion(program, completionWords(config), host);
  addHelpCommands(program, () => void host.stdout.write(`${loadVersion()}\n`));
  addExamples(program);
  return serve;
}
