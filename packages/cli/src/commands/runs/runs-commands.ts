import type { Command } from "commander";
import type { ListRunsOptions } from "./list-runs.ts";
import type { RemoveRunsOptions } from "./remove-runs.ts";
import type { VerifyRunsOptions } from "./verify-runs.ts";

type RunsActions = {
  readonly list: (options: ListRunsOptions) => Promise<void>;
  readonly show: (id: string, options: { readonly json: boolean }) => Promise<void>;
  readonly remove: (ids: readonly string[], options: RemoveRunsOptions) => Promise<void>;
  readonly verify: (options: VerifyRunsOptions) => Promise<void>;
};

/** Adds `budgie runs ls`, `budgie runs show`, `budgie runs rm` and `budgie runs verify`. */
export function addRunsCommands(program: Command, { list, remove, show, verify }: RunsActions): void {
  const runs = program.command("runs").description("the turns in the run log, and their answers");
  runs
    .command("ls", { isDefault: true })
    .description("list the last turns, the newest first")
    .option("--last <number>", "how many", "20")
    .option("--agent <name>", "of this agent alone")
    .option("--session <id>", "of this session alone, by its id or its beginning")
    .option("--dir <dir>", "in this directory, or below it")
    .option("--since <duration>", "that began no longer ago, such as 12h or 7d")
    .option("--json", "print JSON")
    .action(({ json = false, ...options }: Omit<ListRunsOptions, "json"> & { json?: boolean }) =>
      list({ ...options, json }),
    );
  runs
    .command("show")
    .argument("<id>", "a run's id, or what it begins with")
    .description("print all that is known of a turn, and its answer")
    .option("--json", "print JSON")
    .action((id: string, { json = false }: { json?: boolean }) => show(id, { json }));
  runs
    .command("rm")
    .argument("[run...]", "ids of runs, or what they begin with")
    .description("remove turns and their answers from the log")
    .option("--all", "remove all that are over")
    .option("--older-than <duration>", "remove those that began longer ago, such as 12h or 7d")
    .option("--json", "print JSON")
    .action((ids: string[], { all = false, json = false, ...options }: Partial<RemoveRunsOptions>) =>
      remove(ids, { ...options, all, json }),
    );
  runs
    .command("verify")
    .description("compare turns and answers with the record that was made when they ended")
    .option("--noted <head>", "an earlier head, which must still be in the record")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      "\nNames the first turn or entry that was changed, removed, added or moved, with exit code 1. Who can write the file can also\n" +
        "make a new record: note the head elsewhere, and give it as --noted later.",
    )
    .action(({ json = false, ...options }: Partial<VerifyRunsOptions>) => verify({ ...options, json }));
}
