import type { z } from "zod";
import { parseDuration } from "@budgie/core/text";
import type { RateLimits } from "@budgie/core/turn";
import type { SoftDeadline } from "@budgie/mcp-server";
import type { Retention } from "@budgie/store";
import type { ConfigKey, configSchema } from "../options/config-schema.ts";
import { parseSoftDeadline, parseTime, parseWarmIdle } from "../options/option-values.ts";

/** The options that are times, rates, or of what is kept for a time. */
export type Times = {
  readonly maxTurnsPerMinute: RateLimits;
  readonly retention: Retention;
  readonly keepChangesMs: number;
  readonly sessionTtlMs: number;
  readonly heartbeatMs: number;
  /** 0 if no process lives longer than its turn */
  readonly warmIdleMs: number;
  /** A number is in milliseconds */
  readonly softDeadline: SoftDeadline;
  /** 0 disables the sweep */
  readonly sweepEveryMs: number;
};

/** The keys of options that stand in {@link Times} under another name, or in another form. */
export type TimeKey =
  | "heartbeat"
  | "keepChanges"
  | "keepRuns"
  | "maxRunsBytes"
  | "sessionTtl"
  | "softDeadline"
  | "sweepEvery"
  | "warmIdle";

type Options = Pick<z.infer<typeof configSchema>, TimeKey | "maxTurnsPerMinute">;

/** Parses the options that are times. Throws `CONFIG_INVALID`, with the option's name as `toName` returns it. */
export function parseTimes(options: Options, toName: (key: ConfigKey) => string): Times {
  return {
    maxTurnsPerMinute: parseRateLimits(options.maxTurnsPerMinute),
    retention: {
      maxAgeMs: parseDuration(options.keepRuns, toName("keepRuns")) || undefined,
      maxBytes: options.maxRunsBytes || undefined,
    },
    keepChangesMs: parseTime(options.keepChanges, { option: toName("keepChanges"), most: "3650d" }),
    sessionTtlMs: parseTime(options.sessionTtl, { option: toName("sessionTtl"), most: "3650d" }),
    softDeadline: parseSoftDeadline(options.softDeadline, toName("softDeadline")),
    heartbeatMs: parseTime(options.heartbeat, { option: toName("heartbeat"), most: "1h" }),
    sweepEveryMs: parseDuration(options.sweepEvery, toName("sweepEvery")),
    warmIdleMs: parseWarmIdle(options.warmIdle, toName("warmIdle")),
  };
}

/** Parses limits such as `30`, `reviewer=5` and `reviewer=0`. Later ones override earlier ones. */
function parseRateLimits(values: readonly string[]): RateLimits {
  const pairs = values.map((value): [string, number | undefined] => {
    const at = value.lastIndexOf("=");
    return [value.slice(0, Math.max(at, 0)), Number(value.slice(at + 1)) || undefined];
  });
  const { "": all, ...agents } = Object.fromEntries(pairs);
  const limited = Object.entries(agents).filter((pair): pair is [string, number] => pair[1] !== undefined);
  return { all, agents: new Map(limited) };
}
