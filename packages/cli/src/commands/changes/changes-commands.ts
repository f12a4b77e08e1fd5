import { Option, type Command } from "commander";
import type { BundleOptions } from "./bundle-changes.ts";
import type { ListChangesOptions } from "./list-changes.ts";
import type { ShowChangesOptions } from "./show-change-set.ts";
import type { ApplyChangesOptions } from "./apply-change-set.ts";

type WithJson = { readonly json: boolean };

/** The actions of `budgie changes`. */
export type ChangesActions = {
  readonly list: (options: ListChangesOptions) => Promise<void>;
  readonly show: (options: ShowChangesOptions) => Promise<void>;
  readonly diff: (id: string) => Promise<void>;
  readonly bundle: (options: BundleOptions) => Promise<void>;
  readonly apply: (options: ApplyChangesOptions) => Promise<void>;
  readonly discard: (options: WithJson & { readonly ids: readonly string[] }) => Promise<void>;
  readonly undo: (options: WithJson & { readonly id: string }) => Promise<void>;
};

const ID = "a change id, or what it begins with";

/** Adds `budgie changes ls`, `show`, `diff`, `apply`, `discard`, `undo` and `bundle`. */
export function addChangesCommands(program: Command, actions: ChangesActions): void {
  const changes = program.command("changes").description("what agents changed in their copies of a directory");
  changes
    .command("ls", { isDefault: true })
    .description("list the change sets that can be applied, the newest first")
    .option("--all", "list those that are applied, discarded, undone or replaced too")
    .option("--json", "print JSON")
    .action(({ all = false, json = false }: Partial<ListChangesOptions>) => actions.list({ all, json }));
  changes
    .command("show")
    .argument("<change>", ID)
    .description("print the paths of a change set, and what needs care")
    .option("--json", "print JSON")
    .action((id: string, { json = false }: Partial<WithJson>) => actions.show({ id, json }));
  changes
    .command("diff")
    .argument("<change>", ID)
    .description("print the changes as unified diffs, on a terminal in colours and through $PAGER (less)")
    .action((id: string) => actions.diff(id));
  changes
    .command("apply")
    .argument("<change>", ID)
    .description("write a change set into its directory: all of it, or nothing if a path is in conflict")
    .addOption(
      new Option("--conflicts <how>", "skip writes all but what is in conflict, merge does so after it merged texts")
        .choices(["stop", "skip", "merge"])
        .default("stop"),
    )
    .option("--guarded", "write the paths too that your machine runs or obeys, after you confirmed them")
    .option("--json", "print JSON")
    .action((id: string, { conflicts = "stop", guarded = false, json = false }: Partial<ApplyChangesOptions>) =>
      actions.apply({ id, guarded, json, conflicts }),
    );
  changes
    .command("discard")
    .argument("<change...>", "change ids, or what they begin with")
    .description("give up change sets; the agents' copies stay as they are")
    .option("--json", "print JSON")
    .action((ids: readonly string[], { json = false }: Partial<WithJson>) => actions.discard({ ids, json }));
  changes
    .command("undo")
    .argument("<change>", ID)
    .description("take an applied change set back: all of it, or nothing if a path changed since")
    .option("--json", "print JSON")
    .action((id: string, { json = false }: Partial<WithJson>) => actions.undo({ id, json }));
  changes
    .command("bundle")
    .argument("<change>", ID)
    .argument("[file]", "a file that does not exist yet; default the id's beginning with .bundle")
    .description("write the commits of the copy that a change set is of as a git bundle")
    .option("--json", "print JSON")
    .action((id: string, file: string | undefined, { json = false }: Partial<WithJson>) =>
      actions.bundle({ id, file, json }),
    );
}
