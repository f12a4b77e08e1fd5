import type { Command } from "commander";
import { toConfigJsonSchema } from "../../config/build-config-file-schema.ts";
import { escapeForTerminal } from "@budgie/core/text";
import type { Host } from "@budgie/mcp-server";
import { stringifySafely } from "../../terminal/stringify-safely.ts";
import { formatTable } from "../../terminal/format-table.ts";
import { collectSettings, type Settings } from "./collect-settings.ts";
import type { SetConfigOptions } from "./set-config.ts";

type ConfigActions = {
  readonly set: (change: Omit<SetConfigOptions, "file">) => Promise<void>;
  readonly trust: (file: string) => Promise<void>;
};

type For = { readonly for?: string };

const FOR = 'only for calls in this directory: a key of its section in "workspaces", such as image or limits.memory';

/** Adds `budgie config show`, `set`, `unset`, `trust` and `schema`. */
export function addConfigCommands(program: Command, host: Host, { set, trust }: ConfigActions): void {
  const config = program
    .command("config")
    .summary("the settings, and where each comes from")
    .description("the settings, where each comes from, and the JSON Schema of the configuration file");
  config
    .command("show")
    .description("print every setting, and the option, variable or file that it comes from; secrets are hidden")
    .option("--for <dir>", "with the settings of calls in this directory")
    .option("--json", "print JSON")
    .action(({ for: directory, json = false }: { for?: string; json?: boolean }) => {
      const shown = collectSettings(program, host, directory);
      host.stdout.write(json ? stringifySafely(shown) : settingsText(shown));
    });
  config
    .command("set")
    .argument("<key>", "such as sandbox, or agents.code-reviewer.timeout; a name with dots is in quotes")
    .argument("<value>", "JSON, or a text without quotes")
    .option("--for <dir>", FOR)
    .description("set a key of the configuration file, and show what changes")
    .action((key: string, value: string, { for: sectionOf }: For) => set({ key, value, sectionOf }));
  config
    .command("unset")
    .argument("<key>", "as of set")
    .option("--for <dir>", FOR)
    .description("remove a key of the configuration file, and show what changes")
    .action((key: string, { for: sectionOf }: For) => set({ key, value: undefined, sectionOf }));
  config
    .command("trust")
    .argument("<file>", "a file of settings, an agent's file, a prompt or a login")
    .description(
      "show a file that budgie refuses, since agents could write in its directory, and trust it until it changes",
    )
    .action(trust);
  config
    .command("schema")
    .description("print the JSON Schema of the configuration file")
    .action(() => void host.stdout.write(`${JSON.stringify(toConfigJsonSchema(), undefined, 2)}\n`));
}

function settingsText({ hidden, settings }: Settings): string {
  const rows = [
    ["SETTING", "VALUE", "FROM"],
    ...settings.map(({ from, key, value }) => [key, value === undefined ? "" : JSON.stringify(value), from]),
    ...hidden.map((name) => [name, "(hidden)", name]),
  ];
  return `${formatTable(rows).map(escapeForTerminal).join("\n")}\n`;
}
