import type { Command } from "commander";

type WithJson = { readonly json: boolean };

type Actions = {
  readonly list: (options: WithJson) => Promise<void>;
  readonly remove: (options: WithJson & { readonly ids: readonly string[] }) => Promise<void>;
  readonly export: (options: WithJson & { readonly id: string; readonly file: string }) => Promise<void>;
};

/** Adds `budgie sessions ls`, `budgie sessions rm` and `budgie sessions export`. */
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
}
