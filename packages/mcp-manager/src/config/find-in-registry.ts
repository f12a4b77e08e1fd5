import { z } from "zod";
import { BudgieError } from "@budgie/core";
import { type ConfigSource, formatPlace } from "./config-source.ts";

const registrySchema = z.looseObject({ servers: z.array(z.unknown()).max(10_000) });

const values = z.array(z.looseObject({ name: z.string().optional(), value: z.string().optional() })).max(256);

const serverSchema = z.looseObject({
  name: z.string(),
  remotes: z
    .array(z.looseObject({ url: z.string(), headers: values.default([]) }))
    .max(64)
    .default([]),
  packages: z
    .array(
      z.looseObject({
        registryType: z.string(),
        identifier: z.string(),
        version: z.string().optional(),
        runtimeArguments: values.default([]),
        packageArguments: values.default([]),
        environmentVariables: values.default([]),
      }),
    )
    .max(64)
    .default([]),
});

type RegistryServer = z.infer<typeof serverSchema>;
type Package = RegistryServer["packages"][number];

/** Finds a server in a registry's file. Returns the keys of an entry that start or reach it. */
export function findInRegistry(name: string, registry: ConfigSource | undefined): Readonly<Record<string, unknown>> {
  if (registry === undefined) throw faultError(name, "and no registry file is given");
  const { servers } = parseRegistry(registry);
  const found = servers.map(parseServer).find((server) => server?.name === name);
  if (found === undefined) throw faultError(name, `and "${registry.file}" has none of this name that can be read`);
  const [remote] = found.remotes;
  if (remote !== undefined) return { url: remote.url, headers: toRecord(remote.headers) };
  const entry = found.packages.map(buildCommand).find((command) => command !== undefined);
  if (entry === undefined) throw faultError(name, `and "${registry.file}" has no address or npm or PyPI package of it`);
  return entry;
}

function parseRegistry(registry: ConfigSource): z.infer<typeof registrySchema> {
  const parsed = registrySchema.safeParse(registry.content);
  if (parsed.success) return parsed.data;
  throw new BudgieError("CONFIG_INVALID", `Expected ${formatPlace(registry, "servers")} to be a list of servers.`);
}

/** Parses an entry of the registry, with or without the envelope of the registry's API. */
function parseServer(value: unknown): RegistryServer | undefined {
  const envelope = z.looseObject({ server: z.unknown() }).safeParse(value);
  const inner = envelope.success && envelope.data.server !== undefined ? envelope.data.server : value;
  return serverSchema.safeParse(inner).data;
}

/** The programs that fetch and run a package, by its kind. */
const RUNNERS: Readonly<Record<string, readonly [command: string, ...args: string[]]>> = {
  npm: ["npx", "-y"],
  pypi: ["uvx"],
};

function buildCommand(found: Package): Readonly<Record<string, unknown>> | undefined {
  const [command, ...args] = RUNNERS[found.registryType] ?? [];
  if (command === undefined) return undefined;
  const version = found.version === undefined ? "" : `@${found.version}`;
  return {
    command,
    args: [...args, ...listArguments(found.runtimeArguments), `${found.identifier}${version}`].concat(
      listArguments(found.packageArguments),
    ),
    env: toRecord(found.environmentVariables),
  };
}

function listArguments(given: Package["packageArguments"]): string[] {
  return given.flatMap(({ name, value }) => [name, value].filter((part) => part !== undefined));
}

function toRecord(given: Package["environmentVariables"]): Readonly<Record<string, string>> {
  const pairs = given.filter(({ name, value }) => name !== undefined && value !== undefined);
  return Object.fromEntries(pairs.map(({ name, value }) => [name, value]));
}

function faultError(name: string, reason: string): BudgieError {
  return new BudgieError("CONFIG_INVALID", `The MCP server "${name}" is from a registry, ${reason}.`);
}
