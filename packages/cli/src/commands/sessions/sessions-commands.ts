import type { Command } from "commander";
import type { BundleOptions } from "../changes/bundle-changes.ts";

type WithJson = { readonly json: boolean };

type Actions = {
  readonly bundle: (options: BundleOptions) => Promise<void>;
  readonly list: (options: WithJson) => Promise<void>;
  readonly remove: (options: WithJson & { readonly ids: readonly string[] }) => Promise<void>;
  readonly export: (options: WithJson & { readonly id: string; readonly file: string }) => Promise<void>;
};

/** Adds `budgie sessions ls`, `rm`, `export` and `bundle`. */
export function addSessionsCommands(program: Command, actions: Actions): void {
  const sessions = program.command("sessions").description("the sessions on the engine and in local folders");
  sessions
    .command("ls", { isDefault: true })
    .description("list them, the last used first, with their owners")
    .option("--json", "print JSON")
    .action(({ json = false }: Partial<WithJson>) => actions.list({ json }));
  sessions
    .command("rm")
    .argument("<session...>", "ids of sessions without a running budgie, or what they begin with")
    .description("remove sessions that were kept or left behind")
    .option("--json", "print JSON")
    .action((ids: readonly string[], { json = false }: Partial<WithJson>) => actions.remove({ ids, json }));
  sessions
    .command("export")
    .argument("<session>", "a session's id, or what it begins with")
    .argument("<file>", "a file that does not exist yet, or - for stdout")
    .description("write a session's home as a tar, without the login in it")
    .option("--json", "print JSON")
    .action((id: string, file: string, { json = false }: Partial<WithJson>) => actions.export({ id, file, json }));
  sessions
    .command("bundle")
    .argument("<session>", "a session's id, or what it begins with")
    .argument("[file]", "a file that does not exist yet; default the id's beginning with .bundle")
    .description("write the commits of a session for a part of a repository as a git bundle")
    .option("--json", "print JSON")
    .action((id: string, file: string | undefined, { json = false }: Partial<WithJson>) =>
      actions.bundle({ id, file, json }),
    );
}
