import { isDeepStrictEqual } from "node:util";
import { BudgieError, loadAgents } from "@budgie/core";
import { PLAIN_NAME } from "@budgie/core/agents";
import { AGENT_PRESETS, type AgentPreset, type AgentPresetName } from "../../agents/agent-presets.ts";
import type { Config } from "../../config/config.ts";
import type { Host } from "@budgie/mcp-server";
import type { Entry } from "../install/config-format.ts";
import { serverOf, withServer, type Target } from "../install/with-server.ts";
import { formatPatch } from "../install/format-diff.ts";
import { jsonFormat, maskValues, putKeys } from "../install/json-format.ts";
import { loadOwnFile } from "../install/load-client-file.ts";
import { replaceClientFile } from "../install/replace-client-file.ts";
import { buildAgentEntry, findSharedKeys } from "./build-agent-entry.ts";

export type AddAgentOptions = {
  readonly preset: AgentPresetName;
  readonly name: string;
  /** Replace an agent of this name in the file */
  readonly force: boolean;
  readonly dryRun: boolean;
};

type Given = AddAgentOptions & {
  /** The configuration file, which need not exist */
  readonly file: string;
  /** Checks the options, and the configuration file if there is one. */
  readonly parse: (exists: boolean) => Config;
};

/** Runs `budgie agents add`: writes an agent into the configuration file. */
export function addAgent({ dryRun, file: path, force, name, parse, preset: key }: Given, host: Host): number {
  if (!PLAIN_NAME.test(name)) throw nameError(name);
  const file = loadOwnFile(path);
  const config = parse(file.found !== undefined);
  const target: Target = { file: file.path, format: jsonFormat, path: ["agents", name] };
  const preset: AgentPreset = AGENT_PRESETS[key];
  const entry = buildAgentEntry(preset, config, host);
  const say = (line: string): void => void host.stdout.write(`${line}\n`);
  const existing = serverOf(file.text, target);
  if (isDeepStrictEqual(existing, entry)) {
    say(`Nothing to change: "${file.path}" has this agent already.`);
    return 0;
  }
  if (existing === undefined) refuseOther(name, config);
  const shared = findSharedKeys(preset, config, jsonFormat.parse(file.text));
  const text = putKeys(withServer(file.text, target, entry), shared);
  host.stdout.write(formatPatch(file.path, [file.text, text], (shown) => maskOthers(shown, name)));
  if (existing !== undefined && !force) throw takenError(name, file.path);
  if (dryRun) {
    say("Nothing was written (--dry-run).");
    return 0;
  }
  const backup = replaceClientFile(file, { text, mode: 0o600, keepsBackup: true });
  say(`Wrote "${file.path}"${backup === undefined ? "" : `, and kept what was there as "${backup}"`}.`);
  for (const line of collectAdvice({ key, entry, shared, config }, host)) say(line);
  return 0;
}

function nameError(name: string): BudgieError {
  const rule = "not to be empty, to begin with a blank, a dash or a dot, or to hold a slash";
  return new BudgieError("CONFIG_INVALID", `Expected --name ${rule}, got ${JSON.stringify(name)}.`);
}

/** Throws if an agent from another place has the name: only one of the two would be on offer. */
function refuseOther(name: string, config: Config): void {
  const other = loadAgents(config).agents.find((agent) => agent.name === name);
  if (other === undefined) return;
  throw new BudgieError(
    "CONFIG_INVALID",
    `The agent "${name}" exists already, in "${other.file}". Nothing was changed; choose another name with --name.`,
  );
}

function takenError(name: string, path: string): BudgieError {
  return new BudgieError(
    "CONFIG_INVALID",
    `"${path}" has another agent "${name}" already. Nothing was changed; choose another name with --name, or replace it with --force.`,
  );
}

/** Masks all comments and values but those that an addition may change: others may be secrets. */
function maskOthers(text: string, name: string): string {
  return maskValues(text, ([key, agent, field]) =>
    key === "agents" ? agent === name && field !== "headers" : SHARED.has(key),
  );
}

const SHARED: ReadonlySet<string | number | undefined> = new Set(["allowPreset", "sandbox"]);

type Added = {
  readonly key: AgentPresetName;
  readonly entry: Entry;
  readonly shared: Entry;
  readonly config: Config;
};

const EVIDENCE: Readonly<Record<AgentPreset["tried"], readonly string[]>> = {
  budgie: [],
  terms: [],
  no: ["Nobody has tried this preset yet."],
};

function collectAdvice({ config, entry, key, shared }: Added, { env }: Host): readonly string[] {
  const missing = ((entry["env"] ?? []) as readonly string[]).filter((name) => !env[name]);
  return [
    ...(missing.length === 0 ? [] : [`Set ${missing.join(" and ")} where budgie starts; here it is not.`]),
    ...(config.sandbox ? [adviseImage(key, config)] : [NO_SANDBOX]),
    ...("allowPreset" in shared ? [adviseReach(AGENT_PRESETS[key])] : []),
    ...EVIDENCE[AGENT_PRESETS[key].tried],
    '"budgie agents ls" lists all agents.',
  ];
}

const NO_SANDBOX = 'This file chooses no sandbox, so nothing confines the agent. Add "sandbox": true to it.';

function adviseReach({ allowPreset }: AgentPreset): string {
  return `Agents that no section limits to other hosts may now reach those of the preset "${allowPreset}" too.`;
}

function adviseImage(key: AgentPresetName, { sandboxImage }: Pick<Config, "sandboxImage">): string {
  const { command, npm }: AgentPreset = AGENT_PRESETS[key];
  const build = npm === undefined ? "" : `; "budgie build-image --with ${key}" builds one`;
  return `The image "${sandboxImage}" has to hold "${command}"${build}.`;
}
