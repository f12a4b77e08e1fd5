import { Option, type Command } from "commander";
import { USAGE_KEYS } from "@budgie/store";
import type { ShowUsageOptions } from "./show-usage.ts";

/** Adds `budgie usage`. */
export function addUsageCommand(program: Command, show: (options: ShowUsageOptions) => Promise<void>): void {
  program
    .command("usage")
    .description("what the turns in the run log have cost")
    .addOption(new Option("--by <what>", "what to add up by").choices(USAGE_KEYS).default("agent"))
    .option("--since <duration>", "turns that began no longer ago, such as 12h or 7d")
    .option("--json", "print JSON")
    .action(({ json = false, ...options }: Omit<ShowUsageOptions, "json"> & { json?: boolean }) =>
      show({ ...options, json }),
    );
}
