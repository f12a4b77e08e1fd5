import { join } from "node:path";
import type { z } from "zod";
import { BudgieError, parseDuration, parseTimeout, type TurnLimitWishes, type TurnRateLimits } from "@budgie/core";
import type { Retention } from "@budgie/store";
import { loadConfigFile } from "./config-file.ts";
import { configSchema } from "./config-schema.ts";
import { toEgressCeiling } from "./egress-ceiling.ts";
import type { Host } from "../process/host.ts";
import { toAbsolutePath, findExistingFile, toKiroDataDir, toStateDir } from "./host-paths.ts";
import type { SoftDeadline } from "./tool-options.ts";
import { toFlag, toOptionName } from "./option-names.ts";
import { parseTime } from "./option-values.ts";
import { toPolicies, type Policies } from "./agent-policies.ts";
import { toTurnRateLimits } from "./turn-rate-limits.ts";

/** The checked options, with absolute paths. */
export type Config = Omit<
  z.infer<typeof configSchema>,
  | "agentTimeout"
  | "allowHost"
  | "allowPreset"
  | "allowRoot"
  | "egress"
  | "heartbeat"
  | "keepRuns"
  | "maxConcurrent"
  | "maxQueued"
  | "maxRunsBytes"
  | "maxTurnsPerMinute"
  | "model"
  | "sessionTtl"
  | "softDeadline"
  | "sweepEvery"
  | "workspace"
  | FilledIn
> &
  Readonly<Record<FilledIn, string>> & {
    /** Empty allows every directory */
    readonly allowRoot: readonly string[];
    readonly policies: Policies;
    readonly maxTurnsPerMinute: TurnRateLimits;
    readonly retention: Retention;
    readonly sessionTtlMs: number;
    readonly heartbeatMs: number;
    /** A number is in milliseconds */
    readonly softDeadline: SoftDeadline;
    readonly turnLimits: TurnLimitWishes;
    /** 0 disables the sweep */
    readonly sweepEveryMs: number;
    /** `undefined` leaves the choice to Kiro */
    readonly model: string | undefined;
  };

/** Options whose default depends on the machine or on other options */
type FilledIn = "contextSummaryPrompt" | "kiroDataDir" | "stateDir" | "systemPrompt";

/** Checks the options. Throws `CONFIG_INVALID` naming the option, its value and what was expected. */
export function parseConfig(values: Readonly<Record<string, unknown>>, host: Host): Config {
  const parsed = configSchema.safeParse(values);
  if (!parsed.success) throw toConfigError(parsed.error, values);
  const { agentTimeout, allowHost, allowPreset, egress, maxConcurrent, maxQueued, workspace, ...rest } = parsed.data;
  const {
    heartbeat,
    keepRuns,
    maxRunsBytes,
    model: modelName,
    sessionTtl,
    softDeadline,
    sweepEvery,
    ...options
  } = rest;
  const limits = { agentTimeout, allowHost, allowPreset, egress, maxConcurrent, maxQueued, workspace };
  const promptsDir = toAbsolutePath(options.promptsDir, host);
  return {
    ...options,
    promptsDir,
    ...loadAccess({ ...options, ...limits }, host),
    agentsDir: toAbsolutePath(options.agentsDir, host),
    sessionsDir: toAbsolutePath(options.sessionsDir, host),
    caFile: findExistingFile(options.caFile, toFlag("caFile"), host),
    systemPrompt:
      findExistingFile(options.systemPrompt, toFlag("systemPrompt"), host) ?? join(promptsDir, "_system.md"),
    contextSummaryPrompt:
      findExistingFile(options.contextSummaryPrompt, toFlag("contextSummaryPrompt"), host) ??
      join(promptsDir, "_context-summary.md"),
    kiroBinary: options.sandbox ? options.kiroBinary : toBinary(options.kiroBinary, host),
    kiroDataDir: toAbsolutePath(options.kiroDataDir ?? toKiroDataDir(host), host),
    stateDir: toAbsolutePath(options.stateDir ?? toStateDir(host), host),
    maxTurnsPerMinute: toTurnRateLimits(options.maxTurnsPerMinute),
    retention: {
      maxAgeMs: parseDuration(keepRuns, toOptionName("keepRuns")) || undefined,
      maxBytes: maxRunsBytes || undefined,
    },
    sessionTtlMs: parseTime(sessionTtl, { option: toOptionName("sessionTtl"), most: "3650d" }),
    softDeadline: toSoftDeadline(softDeadline),
    heartbeatMs: parseTime(heartbeat, { option: toOptionName("heartbeat"), most: "1h" }),
    sweepEveryMs: parseDuration(sweepEvery, toOptionName("sweepEvery")),
    model: modelName === "auto" ? undefined : modelName,
  };
}

function toSoftDeadline(text: string): SoftDeadline {
  if (text === "auto" || text === "never") return text;
  return parseTime(text, { option: `${toOptionName("softDeadline")}, if not "auto" or "never",`, most: "24h" });
}

/** Loads the configuration file, and merges it with the options, which take precedence. */
function loadAccess(
  options: Omit<
    z.infer<typeof configSchema>,
    "heartbeat" | "keepRuns" | "maxRunsBytes" | "model" | "sessionTtl" | "softDeadline" | "sweepEvery"
  >,
  host: Host,
): Pick<Config, "allowRoot" | "config" | "policies" | "turnLimits"> {
  const file = options.config === undefined ? undefined : toAbsolutePath(options.config, host);
  const { agents, allowRoot, maxConcurrent, ...inFile } = loadConfigFile(file, host.home);
  const { sandbox } = options;
  const timeoutMs = parseTimeout(options.agentTimeout, toOptionName("agentTimeout"));
  return {
    config: file,
    allowRoot: options.allowRoot?.map((root) => toAbsolutePath(root, host)) ?? allowRoot,
    policies: toPolicies({
      ceiling: {
        workspace: options.workspace,
        egress: toEgressCeiling({ options, inFile, file, sandbox }),
        limits: {},
        timeoutMs,
      },
      sections: agents,
      file,
      sandbox,
    }),
    turnLimits: { concurrent: options.maxConcurrent, queued: options.maxQueued, agents: maxConcurrent },
  };
}

function toConfigError({ issues: [issue] }: z.ZodError, values: Readonly<Record<string, unknown>>): BudgieError {
  const [key = ""] = issue?.path.map(String) ?? [];
  const value = issue?.path.length === 2 ? (values[key] as readonly unknown[])[Number(issue.path[1])] : values[key];
  return new BudgieError(
    "CONFIG_INVALID",
    `Expected ${toOptionName(key)} to be ${issue?.message}, got ${JSON.stringify(value)}.`,
  );
}

/** Returns an absolute path, or a bare name, which is searched on the PATH. Agents start in other folders. */
function toBinary(binary: string, host: Host): string {
  return binary.includes("/") ? toAbsolutePath(binary, host) : binary;
}
