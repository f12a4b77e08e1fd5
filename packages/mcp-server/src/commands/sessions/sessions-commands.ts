import type { Command } from "commander";

type WithJson = { readonly json: boolean };

type SessionsActions = {
  readonly list: (options: WithJson) => Promise<void>;
  readonly remove: (options: WithJson & { readonly ids: readonly string[] }) => Promise<void>;
  readonly export: (options: WithJson & { readonly id: string; readonly file: string }) => Promise<void>;
};

/** Adds `budgie sessions ls`, `budgie sessions rm` and `budgie sessions export`. */
export function addSessions(program: Command, actions: SessionsActions): void {
  const sessions = program.command("sessions").description("the sessions on the engine and in local folders");
  sessions
    .command("ls")
    .description("list them, the last used first, with their owners")
    .option("--json", "print JSON")
    .action(({ json = false }: Partial<WithJson>) => actions.list({ json }));
  sessions
    .command("rm")
    .argument("<ids...>", "ids of sessions without a running budgie")
    .description("remove sessions that were kept or left behind")
    .option("--json", "print JSON")
    .action((ids: readonly string[], { json = false }: Partial<WithJson>) => actions.remove({ ids, json }));
  sessions
    .command("export")
    .argument("<id>", "a session's id")
    .argument("<file>", "a file that does not exist yet, or - for stdout")
    .description("write a session's home as a tar, without the login in it")
    .option("--json", "print JSON")
    .action((id: string, file: string, { json = false }: Partial<WithJson>) => actions.export({ id, file, json }));
}
