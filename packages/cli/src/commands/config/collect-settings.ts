import type { Command } from "commander";
import { resolvePath, type Host, type Variables, type WorkspaceSettings } from "@budgie/mcp-server";
import { findWorkspace } from "@budgie/mcp-server/commands";
import { resolveLinks } from "../../config/build-workspaces.ts";
import { loadSource, parseSource } from "../../config/config.ts";
import type { FileWorkspace } from "../../config/config-file.ts";
import type { KagentSection } from "../../config/kagent-section.ts";
import { configSchema, OPTION_KEYS } from "../../options/config-schema.ts";
import { readServerValues, findSource } from "../server-options.ts";

/** One setting, and its source. */
type Setting = {
  /** The key in a configuration file */
  readonly key: string;
  readonly value: unknown;
  /** A flag, a variable, the path of the configuration file, or `default` */
  readonly from: string;
};

/** All settings. */
export type Settings = {
  readonly settings: readonly Setting[];
  /** Variables with secrets that are set */
  readonly hidden: readonly string[];
};

const SECRETS = ["BUDGIE_HTTP_TOKEN", "KIRO_API_KEY"];

/** Collects the settings that a server would have, for calls in a directory if one is named. Throws `CONFIG_INVALID` as it would. */
export function collectSettings(program: Command, host: Host, directory?: string): Settings {
  const values = readServerValues(program, host.env);
  const source = loadSource(values, host);
  const { content, file = "" } = source;
  const config = parseSource(source, host);
  const checked: Readonly<Record<string, unknown>> = config;
  const {
    agents,
    allowHost,
    allowPreset,
    allowRoot,
    egress,
    env,
    kagent,
    limits,
    mcp,
    mcpRegistry,
    options,
    workspaces,
  } = content;
  const inFile: Readonly<Record<string, unknown>> = {
    ...options,
    allowHost,
    allowPreset,
    allowRoot: allowRoot.length > 0 ? allowRoot : undefined,
    egress,
    env: env && Object.keys(env),
  };
  const parsed: Readonly<Record<string, unknown>> = configSchema.parse({ ...inFile, ...values });
  const settings = OPTION_KEYS.map((key): Setting => {
    const fallback = inFile[key] === undefined ? "default" : file;
    const from = findSource(program, host.env, key) ?? fallback;
    if (key === "env") return { key, value: withoutTexts(config.env), from };
    // V3 implies another protocol, and a runner is a sandbox.
    const value = key === "protocol" || key === "sandbox" ? checked[key] : (parsed[key] ?? hideFallback(checked[key]));
    return { key, value, from };
  });
  const fromFile = (key: string, value: unknown): readonly Setting[] =>
    value === undefined ? [] : [{ key, value, from: file }];
  const all = [
    ...settings,
    ...fromFile("limits", limits),
    ...fromFile("budget", content.budgets.all),
    ...[...content.budgets.agents].flatMap(([name, budget]) => fromFile(`agents.${name}.budget`, budget)),
    ...[...agents].flatMap(([name, value]) => fromFile(`agents.${name}`, withEnv(value, content.agentEnv.get(name)))),
    ...[...mcp].flatMap(([name, allowed]) => fromFile(`agents.${name}.mcp`, Object.fromEntries(allowed))),
    ...(directory === undefined ? workspaces.flatMap((one) => fromFile(keyOf(one), withoutSecretTexts(one))) : []),
    ...fromFile("kagent", kagent && withoutSecrets(kagent)),
    ...fromFile("mcpRegistry", mcpRegistry),
    ...fromFile("notify", content.notify),
  ];
  const own = directory === undefined ? undefined : findOwn(directory, { config, content: workspaces, host });
  return {
    settings: own === undefined ? all : withOwn(all, { ...own, from: `"${keyOf(own.section)}" in ${file}` }),
    hidden: SECRETS.filter((name) => host.env[name]),
  };
}

type Workspaces = Parameters<typeof findWorkspace>[0] & { readonly workspaces: readonly WorkspaceSettings[] };

type Own = { readonly section: FileWorkspace; readonly settings: WorkspaceSettings };

/** Finds the section of a directory, and what became of it. */
function findOwn(
  directory: string,
  {
    config,
    content,
    host,
  }: { readonly config: Workspaces; readonly content: readonly FileWorkspace[]; readonly host: Host },
): Own | undefined {
  const settings = findWorkspace(config, resolveLinks(resolvePath(directory, host)));
  const section = content.find((one) => resolveLinks(one.directory) === settings?.directory);
  return settings === undefined || section === undefined ? undefined : { section, settings };
}

/** Puts a directory's own values in place of those of all. */
function withOwn(
  all: readonly Setting[],
  { from, section, settings }: Own & { readonly from: string },
): readonly Setting[] {
  const { allowHost, allowPreset, cache, env, image, limits, mounts, subfolderGit, workspacePath } = section;
  const own: Readonly<Record<string, unknown>> = {
    ...(image === undefined ? {} : { sandboxImage: image }),
    ...(Object.keys(env).length === 0 ? {} : { env: withoutTexts(env) }),
    ...(limits === undefined ? {} : { limits: settings.policies.ceiling.limits }),
    ...(workspacePath === undefined ? {} : { workspacePath }),
    ...(subfolderGit === undefined ? {} : { subfolderGit }),
    ...(mounts === undefined ? {} : { mounts }),
    ...(cache === undefined ? {} : { cache }),
    ...(allowHost === undefined ? {} : { allowHost }),
    ...(allowPreset === undefined ? {} : { allowPreset }),
  };
  const agents = [...section.agents].map(([name, { needs, section: restrictions }]): Setting => ({
    key: `agents.${name}`,
    value: { ...withEnv(restrictions, needs.env), image: needs.image },
    from,
  }));
  // Those of all count too.
  const added = new Set(["allowHost", "allowPreset", "env"]);
  const kept = all.filter(({ key, value }) => !(key in own) || (added.has(key) && !isEmpty(value)));
  const named = Object.entries(own).map(([key, value]): Setting => ({ key, value, from }));
  return [...kept, ...named, ...listBudget(section, from), ...agents];
}

/** Lists the budget of a directory, which counts beside that of all. */
function listBudget(section: FileWorkspace, from: string): readonly Setting[] {
  return section.budget === undefined ? [] : [{ key: `${keyOf(section)}.budget`, value: section.budget, from }];
}

function isEmpty(value: unknown): boolean {
  return value === undefined || Object.keys(value as object).length === 0;
}

function keyOf({ path }: FileWorkspace): string {
  return `workspaces.${path}`;
}

function withoutSecretTexts({
  agents,
  allowHost,
  allowPreset,
  budget,
  cache,
  env,
  image,
  limits,
  mounts,
  subfolderGit,
  workspacePath,
}: FileWorkspace): object {
  const own = [...agents].map(([name, { needs, section: restrictions }]) => [
    name,
    { ...withEnv(restrictions, needs.env), image: needs.image },
  ]);
  return {
    image,
    workspacePath,
    subfolderGit,
    mounts,
    cache,
    limits,
    budget,
    allowHost,
    allowPreset,
    ...(Object.keys(env).length === 0 ? {} : { env: withoutTexts(env) }),
    ...(own.length === 0 ? {} : { agents: Object.fromEntries(own) as object }),
  };
}

function withEnv(section: object, env: Variables = {}): object {
  return Object.keys(env).length === 0 ? section : { ...section, env: withoutTexts(env) };
}

/** Hides the texts of variables, which may be secrets, and shows those that only name another variable. */
function withoutTexts(env: Variables): Variables {
  return Object.fromEntries(
    Object.entries(env).map(([name, value]) => [name, /^\$[A-Za-z_]\w*$/.test(value) ? value : "(hidden)"]),
  );
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
function hideFallback(value: unknown): unknown {
  return typeof value === "string" ? value : undefined;
}
