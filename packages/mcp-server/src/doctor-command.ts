import { accessSync, constants, existsSync } from "node:fs";
import { dirname } from "node:path";
import { BudgieError, createOwner, loadAgents } from "@budgie/core";
import type { Config } from "./config.ts";
import type { Finding } from "./finding.ts";
import type { Host } from "./host.ts";
import { toToolNames } from "./mcp/tool-name.ts";
import { refuseStrangers } from "./policies.ts";
import { toSandboxFindings } from "./sandbox-findings.ts";

/** `budgie doctor`: looks at what sandboxed turns need and changes nothing; 1 if something is missing. */
export async function runDoctor(config: Config, options: { readonly json: boolean }, host: Host): Promise<number> {
  const { inspectSandbox } = await import("@budgie/runner-docker");
  const { credentials, kiroDataDir, runtime, sandboxImage: image, stateDir } = config;
  const { env: hostEnv, home } = host;
  const { record: owner } = createOwner({ stateDir });
  const program = toProgram(config);
  const facts = await inspectSandbox({ image, program, owner, kiroDataDir, home, hostEnv, credentials, runtime });
  const findings = [...toSandboxFindings(facts, config, host), ...inspectAgents(config), ...inspectDirectories(config)];
  const isWell = findings.every(({ state }) => state !== "failed");
  host.stdout.write(options.json ? `${JSON.stringify({ ok: isWell, findings })}\n` : findings.map(toLine).join(""));
  return isWell ? 0 : 1;
}

/** Without `--sandbox` a path is one of the host's, and says nothing of the image. */
function toProgram({ kiroBinary, sandbox }: Config): string {
  return sandbox || !kiroBinary.includes("/") ? kiroBinary : "kiro-cli";
}

function inspectAgents(config: Config): readonly Finding[] {
  const { agents, problems } = loadAgents(config);
  const names = agents.map(({ name }) => name).join(", ") || "none";
  return [
    { state: agents.length === 0 ? "failed" : "ok", what: "agents", text: `${names}, in "${config.agentsDir}"` },
    ...problems.map((text): Finding => ({ state: "note", what: "agents", text })),
    ...inspectNames(() => toToolNames(agents, config.toolPrefix)),
    ...inspectNames(() => refuseStrangers(config.policies, agents, config.config)),
  ];
}

function inspectNames(check: () => unknown): readonly Finding[] {
  try {
    check();
    return [];
  } catch (error) {
    if (!(error instanceof BudgieError)) throw error;
    return [{ state: "failed", what: "agents", text: error.message }];
  }
}

function inspectDirectories({ sessionsDir, stateDir }: Config): readonly Finding[] {
  return [sessionsDir, stateDir].map((directory): Finding => {
    return isWritable(directory)
      ? { state: "ok", what: "directory", text: `"${directory}" can be written` }
      : { state: "failed", what: "directory", text: `"${directory}" cannot be written` };
  });
}

/** A directory that is not there yet is made in the nearest one that is. */
function isWritable(directory: string): boolean {
  if (!existsSync(directory)) return dirname(directory) !== directory && isWritable(dirname(directory));
  try {
    accessSync(`${directory}/.`, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function toLine({ state, text, what }: Finding): string {
  return `${state.padEnd(7)} ${what.padEnd(10)} ${text}\n`;
}
