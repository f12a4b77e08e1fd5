import { accessSync, constants, existsSync } from "node:fs";
import { dirname } from "node:path";
import { BudgieError, loadAgents, toDurationText } from "@budgie/core";
import type { SandboxFacts } from "@budgie/runner-docker";
import type { Config } from "./config.ts";
import type { Host } from "./host.ts";
import { toToolNames } from "./mcp/tool-name.ts";
import { refuseStrangers } from "./policies.ts";
import { toSandboxSecrets } from "./sandbox-secrets.ts";

/** One thing that was looked at. `note`: worth knowing, and no obstacle */
type Finding = { readonly state: "ok" | "note" | "failed"; readonly what: string; readonly text: string };

/** `budgie doctor`: looks at what sandboxed turns need and changes nothing; 1 if something is missing. */
export async function runDoctor(config: Config, options: { readonly json: boolean }, host: Host): Promise<number> {
  const { inspectSandbox } = await import("@budgie/runner-docker");
  const { credentials, kiroDataDir, runtime, sandboxImage: image } = config;
  const { env: hostEnv, home } = host;
  const facts = await inspectSandbox({ image, kiroDataDir, home, hostEnv, credentials, runtime });
  const findings = [...toSandboxFindings(facts, config, host), ...inspectAgents(config), ...inspectDirectories(config)];
  const isWell = findings.every(({ state }) => state !== "failed");
  host.stdout.write(options.json ? `${JSON.stringify({ ok: isWell, findings })}\n` : findings.map(toLine).join(""));
  return isWell ? 0 : 1;
}

function toSandboxFindings(
  { engine, image, login, notices, runtime }: SandboxFacts,
  { credentials, kiroDataDir }: Config,
  { env }: Host,
): readonly Finding[] {
  return [
    toFinding("engine", engine, ({ apiVersion, endpoint, name, version }) => {
      return `${name} ${version}, API ${apiVersion}, at ${endpoint}`;
    }),
    toFinding("image", image, ({ created, id, name }) => `${name} (${id.slice(0, 19)}), built ${toAge(created)} ago`),
    ...(runtime === undefined ? [] : [toFinding("runtime", runtime, ({ name }) => `the engine has "${name}"`)]),
    toFinding("login", login, (facts) => toLoginText(facts, kiroDataDir)),
    toSecretsFinding(Object.keys(toSandboxSecrets(credentials, env))),
    ...notices.map((text): Finding => ({ state: "note", what: "caller", text })),
  ];
}

type LoginFacts = Extract<SandboxFacts["login"], { readonly ok: true }>["facts"];

function toLoginText(login: LoginFacts, kiroDataDir: string): string {
  switch (login.from) {
    case "api-key":
      return "by KIRO_API_KEY";
    case "nothing":
      return "none is handed to a sandbox";
    case "database": {
      const left = login.expires === undefined ? "" : `; its access token alone, until ${login.expires.toISOString()}`;
      return `in "${kiroDataDir}", written ${toAge(login.updated)} ago${left}`;
    }
  }
}

function toSecretsFinding(names: readonly string[]): Finding {
  if (names.length === 0) return { state: "ok", what: "secrets", text: "none in a sandbox's variables" };
  const text = `${names.join(", ")} among a sandbox's variables: who reaches the engine can read them during a turn`;
  return { state: "note", what: "secrets", text };
}

function toFinding<Facts>(
  what: string,
  part: { readonly ok: true; readonly facts: Facts } | { readonly ok: false; readonly problem: string },
  toText: (facts: Facts) => string,
): Finding {
  return part.ok ? { state: "ok", what, text: toText(part.facts) } : { state: "failed", what, text: part.problem };
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

function toAge(date: Date): string {
  const hours = (Date.now() - date.getTime()) / 3_600_000;
  return hours >= 48 ? `${Math.floor(hours / 24)} days` : toDurationText(Math.max(0, hours * 3_600_000));
}

function toLine({ state, text, what }: Finding): string {
  return `${state.padEnd(7)} ${what.padEnd(10)} ${text}\n`;
}
