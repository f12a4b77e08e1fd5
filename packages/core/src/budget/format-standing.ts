import { formatDuration } from "../text/parse-duration.ts";
import type { Standing } from "./budget-ledger.ts";

/** Formats a limit and its use: `the agent "x" has used 9.5 of 10 credits for this day`. */
export function formatStanding(standing: Standing): string {
  const { most, reserved, unit, used } = standing;
  const running =
    reserved > 0 && reserved < used ? `, ${formatAmount(reserved)} of them reserved by running turns` : "";
  const all = reserved > 0 && reserved >= used ? ", all reserved by running turns" : "";
  return `${formatAmount(used)} of ${formatAmount(most)} ${unit}${running}${all}`;
}

/** Formats whose limit it is, for which window: `the agent "x" for a day`. */
export function formatOwner({ scope, window }: Pick<Standing, "scope" | "window">): string {
  const [kind = "", ...name] = scope.split(" ");
  const whose = { all: "all agents", agent: "the agent", directory: "the directory", call: "this call" }[kind] ?? kind;
  const named = name.length === 0 ? whose : `${whose} ${JSON.stringify(name.join(" "))}`;
  return scope === "call" ? named : `${named} for a ${window === "turn" ? "call" : window}`;
}

/** Formats when a limit is free again, and what to do until then. */
export function formatRemedy({ reserved, window }: Pick<Standing, "reserved" | "window">, now: Date): string {
  const early = reserved > 0 ? ", or once running turns return what they reserved" : "";
  const raise = `Only the user can allow more, by "budget" in budgie's configuration.`;
  switch (window) {
    case "turn":
      return `Do the rest without more agents. ${raise}`;
    case "session":
      return `A new session has a budget of its own: leave out the session id${early}. ${raise}`;
    case "day": {
      const next = new Date(now.getFullYear(), now.getMonth(), now.getDate() + 1);
      return `It is free again at midnight, in ${formatDuration(next.getTime() - now.getTime())}${early}. ${raise}`;
    }
  }
}

/** Formats an amount without the error of a floating-point sum. */
export function formatAmount(amount: number): string {
  return String(Number(amount.toFixed(amount >= 100 ? 0 : 3)));
}
