import { BudgieError, type ErrorCode } from "../errors.ts";

const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const WHOLE = /^(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ms|s|m|h|d))+$/;
const PART = /([\d.]+)(ms|s|m|h|d)/gy;

/**
 * Parses a Go duration such as `10m`, `1h30m` or `1.5s`, or one with days such as `7d`, to milliseconds. Throws an error with `code` that
 * names `option`.
 */
export function parseDuration(text: string, option: string, code: ErrorCode = "CONFIG_INVALID"): number {
  if (!WHOLE.test(text)) {
    if (text === "0") return 0;
    throw new BudgieError(code, `Expected ${option} to be a duration such as "90s", "10m" or "1h30m", got "${text}".`);
  }
  let totalMs = 0;
  for (const [, amount, unit] of text.matchAll(PART)) totalMs += Number(amount) * (UNITS_MS[unit ?? ""] ?? 0);
  return Math.round(totalMs);
}

/** Parses a turn's timeout, which must be longer than 0. Throws an error with `code` that names `option`. */
export function parseTimeout(text: string, option: string, code: ErrorCode = "CONFIG_INVALID"): number {
  const timeoutMs = parseDuration(text, option, code);
  if (timeoutMs > 0) return timeoutMs;
  throw new BudgieError(code, `Expected ${option} to be longer than 0, got "${text}".`);
}

/** Formats milliseconds for people: `250ms`, `15.3s`, `2m05s`, `1h30m`. */
export function formatDuration(ms: number): string {
  if (Math.round(ms) < 1000) return `${Math.round(ms)}ms`;
  const tenths = Math.round(ms / 100);
  if (tenths < 600) return `${tenths / 10}s`;
  const seconds = Math.round(ms / 1000);
  const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60), seconds % 60];
  if (hours > 0) return `${hours}h${minutes.toString().padStart(2, "0")}m`;
  return rest === 0 ? `${minutes}m` : `${minutes}m${rest.toString().padStart(2, "0")}s`;
}
