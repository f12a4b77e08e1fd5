import { BudgieError } from "@budgie/core";
import { Argument, Option, type Command } from "commander";
import { CLIENT_NAMES, findClient, SCOPES, type ClientName, type Scope } from "./clients.ts";
import { didYouMean } from "../../terminal/did-you-mean.ts";
import type { InstallOptions } from "./run-install.ts";
import type { UninstallOptions } from "./run-uninstall.ts";

type InstallActions = {
  readonly install: (options: Omit<InstallOptions, "check">) => Promise<void>;
  readonly uninstall: (options: UninstallOptions) => Promise<void>;
};

type Given = { readonly scope: Scope; readonly name: string; readonly dryRun?: boolean; readonly force?: boolean };

/** Adds `budgie install` and `budgie uninstall`. */
export function addInstallCommands(program: Command, { install, uninstall }: InstallActions): void {
  addCommand(program, "install")
    .usage("[options] <client> [-- options of the server, beside --sandbox]")
    // A declared argument would make the help of all commands wider than a terminal.
    .allowExcessArguments()
    .summary("have an MCP client start budgie")
    .description("write a client's configuration so that it starts budgie, and show what changes")
    .option("--force", "replace a server of this name that is not budgie's")
    .action((client: ClientName, { dryRun = false, force = false, name, scope }: Given, { args }: Command) =>
      install({ client, args: args.slice(1), dryRun, force, name, scope }),
    );
  addCommand(program, "uninstall")
    .summary("take budgie out of an MCP client")
    .description("remove from a client's configuration what install added")
    .action((client: ClientName, { dryRun = false, name, scope }: Given) => uninstall({ client, dryRun, name, scope }));
}

function addCommand(program: Command, name: string): Command {
  return program
    .command(name)
    .addArgument(new Argument("<client>", `one of ${CLIENT_NAMES.join(", ")}`).argParser(parseClient))
    .addOption(
      new Option("--scope <scope>", "for you everywhere, or for the current directory").choices(SCOPES).default("user"),
    )
    .option("--name <name>", "what the server is called there", "kiro-subagents")
    .option("--dry-run", "show what would change, and write nothing");
}

function parseClient(name: string): ClientName {
  const found = findClient(name);
  if (found !== undefined) return found;
  const near = didYouMean(name, CLIENT_NAMES);
  throw new BudgieError("CONFIG_INVALID", `There is no client "${name}".${near} Clients: ${CLIENT_NAMES.join(", ")}.`);
}
