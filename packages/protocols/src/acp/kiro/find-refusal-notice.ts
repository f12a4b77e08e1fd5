import { oneLine } from "../answer/one-line.ts";

const REFUSALS: ReadonlySet<string> = new Set([
  "_kiro/customAgent/not_found",
  "_kiro/customAgent/config_error",
  "_kiro/policy/error",
]);
const LONGEST = 300;

/** Returns a line about a notification of V3 that it did not take its agent or the rules for it; `undefined` for all others. */
export function findRefusalNotice(method: unknown, params: unknown): string | undefined {
  if (typeof method !== "string" || !REFUSALS.has(method)) return undefined;
  const { error, message, reason } = (params ?? {}) as Readonly<Record<string, unknown>>;
  const said = [message, error, reason].find((text): text is string => typeof text === "string") ?? "";
  const text = oneLine(said.slice(0, LONGEST));
  return text === "" ? `it reports ${method}` : `it reports ${method} (${text})`;
}
