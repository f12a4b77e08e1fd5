import type { CommanderError } from "commander";
import { BudgieError } from "@budgie/core";
import type { Host } from "../process/host.ts";

/** Exits after help or version was printed. Throws `CONFIG_INVALID` for any other error of commander. */
export function handleUsageError(error: CommanderError, host: Host): void {
  if (error.exitCode === 0) return host.exit(0);
  const message = error.message
    .replace(/^error: /, "")
    .replace(/\s+/g, " ")
    .replace(/\.?$/, ".");
  throw new BudgieError("CONFIG_INVALID", `${message} See "budgie --help".`, { cause: error });
}
