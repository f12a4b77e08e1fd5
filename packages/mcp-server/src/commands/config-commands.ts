import type { Command } from "commander";
import { toConfigJsonSchema } from "../config/config-file-schema.ts";
import { configSchema, type ConfigKey } from "../config/config-schema.ts";
import { loadSource, parseSource } from "../config/config.ts";
import type { KagentSection } from "../elsewhere/server-section.ts";
import type { Host } from "../process/host.ts";
import { escapeForTerminal } from "../terminal/printable.ts";
import { toSafeJson } from "../terminal/safe-json.ts";
import { toTable } from "../terminal/table.ts";
import { toServerValues, toSource } from "./server-options.ts";

/** Adds `budgie config show` and `budgie config schema`. */
export function addConfig(program: Command, host: Host): void {
  const config = program
    .command("config")
    .summary("the settings, and where each comes from")
    .description("the settings, where each comes from, and the JSON Schema of the configuration file");
  config
    .command("show")
    .description("print every setting, and the option, variable or file that it comes from; secrets are hidden")
    .option("--json", "print JSON")
    .action(({ json = false }: { json?: boolean }) => {
      const shown = collectSettings(program, host);
      host.stdout.write(json ? toSafeJson(shown) : settingsText(shown));
    });
  config
    .command("schema")
    .description("print the JSON Schema of the configuration file")
    .action(() => void host.stdout.write(`${JSON.stringify(toConfigJsonSchema(), undefined, 2)}\n`));
}

type Setting = {
  /** The key in a configuration file */
  readonly key: string;
  readonly value: unknown;
  /** A flag, a variable, the path of the configuration file, or `default` */
  readonly from: string;
};

type Settings = {
  readonly settings: readonly Setting[];
  /** Variables with secrets that are set */
  readonly hidden: readonly string[];
};

const SECRETS = ["BUDGIE_HTTP_TOKEN", "KIRO_API_KEY"];

/** Collects the settings that a server would have. Throws `CONFIG_INVALID` as it would. */
function collectSettings(program: Command, host: Host): Settings {
  const values = toServerValues(program, host.env);
  const source = loadSource(values, host);
  const { content, file = "" } = source;
  const checked: Readonly<Record<string, unknown>> = parseSource(source, host);
  const { agents, configuredAgents: _, kagent, maxConcurrent: __, mcp, mcpRegistry, options, ...merged } = content;
  const inFile: Readonly<Record<string, unknown>> = {
    ...options,
    ...merged,
    allowRoot: merged.allowRoot.length > 0 ? merged.allowRoot : undefined,
  };
  const parsed: Readonly<Record<string, unknown>> = configSchema.parse({ ...inFile, ...values });
  const keys = Object.keys(configSchema.shape) as readonly ConfigKey[];
  const settings = keys.map((key): Setting => {
    const fallback = inFile[key] === undefined ? "default" : file;
    // V3 implies another protocol.
    const value = key === "protocol" ? checked[key] : (parsed[key] ?? toFallback(checked[key]));
    return { key, value, from: toSource(program, host.env, key) ?? fallback };
  });
  const sections = [...agents].map(([name, value]): Setting => ({ key: `agents.${name}`, value, from: file }));
  const backend = kagent === undefined ? [] : [{ key: "kagent", value: withoutSecrets(kagent), from: file }];
  const servers = [...mcp].map(([name, allowed]): Setting => {
    return { key: `agents.${name}.mcp`, value: Object.fromEntries(allowed), from: file };
  });
  const registry = mcpRegistry === undefined ? [] : [{ key: "mcpRegistry", value: mcpRegistry, from: file }];
  return {
    settings: [...settings, ...sections, ...servers, ...backend, ...registry],
    hidden: SECRETS.filter((name) => host.env[name]),
  };
}

/** Hides the values of headers, except those that only name a variable, with or without a scheme. */
function withoutSecrets(section: KagentSection): KagentSection {
  const shown = Object.entries(section.headers).map(([name, value]) => [
    name,
    ONE_VARIABLE.test(value) ? value : "(hidden)",
  ]);
  return { ...section, headers: Object.fromEntries(shown) as KagentSection["headers"] };
}

const ONE_VARIABLE = /^(?:(?:Basic|Bearer|Token) )?\$(?:\w+|\{\w+\})$/i;

/** Returns a default that depends on the machine. */
function toFallback(value: unknown): unknown {
  return typeof value === "string" ? value : undefined;
}

function settingsText({ hidden, settings }: Settings): string {
  const rows = [
    ["SETTING", "VALUE", "FROM"],
    ...settings.map(({ from, key, value }) => [key, value === undefined ? "" : JSON.stringify(value), from]),
    ...hidden.map((name) => [name, "(hidden)", name]),
  ];
  return `${toTable(rows).map(escapeForTerminal).join("\n")}\n`;
}
