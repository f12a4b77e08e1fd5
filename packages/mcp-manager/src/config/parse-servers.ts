import { z } from "zod";
import { BudgieError } from "@budgie/core";
import { PLAIN_NAME } from "@budgie/core/agents";
import { type ConfigSource, formatPlace } from "./config-source.ts";
import type { McpServer } from "./mcp-server.ts";
import { findInRegistry } from "./find-in-registry.ts";
import { isSafeUrl } from "./is-safe-url.ts";

export type ConfigSources = {
  /** The agent's own file */
  readonly agent: ConfigSource;
  /** Reads the user's `settings/mcp.json`; called only if the agent's file includes it */
  readonly settings?: (() => ConfigSource) | undefined;
  /** Reads a file in the format of MCP registries; called only for entries of the type `registry` */
  readonly registry?: (() => ConfigSource) | undefined;
};

export type ParsedServers = {
  readonly servers: readonly McpServer[];
  /** Servers whose entries are wrong, by name; each error is a `CONFIG_INVALID` */
  readonly broken: ReadonlyMap<string, BudgieError>;
};

const texts = z.array(z.string().max(16_384)).max(256);
const named = z.record(z.string().regex(/^[A-Za-z_]\w*$/, "must have names of variables"), z.string().max(65_536));
const headers = z.record(
  z.string().regex(/^[\w!#$%&'*+.^`|~-]+$/, "must have names of headers"),
  z.string().max(16_384),
);

/** An entry of `mcpServers`, as Kiro reads it. Other keys are accepted, since Kiro accepts them. */
const serverEntrySchema = z.looseObject({
  type: z.enum(["stdio", "http", "streamable-http", "sse", "registry"]).optional(),
  command: z.string().min(1).max(4096).optional(),
  args: texts.default([]),
  env: named.default({}),
  url: z.string().max(4096).optional(),
  headers: headers.default({}),
  timeout: z.number().int().min(1).max(86_400_000).default(120_000),
  disabled: z.boolean().default(false),
  disabledTools: texts.default([]),
  oauthScopes: texts.default([]),
});

type ServerEntry = z.infer<typeof serverEntrySchema>;

// More than anyone uses, and each may be a process.
const MOST_SERVERS = 64;
const LONGEST_NAME = 64;

/**
 * Parses the servers of an agent: those in its file and, if the file includes the user's settings, those there. The file's entries
 * take precedence. An invalid entry makes only its own server unusable. Variables are not expanded.
 */
export function parseServers({ agent, registry, settings }: ConfigSources): ParsedServers {
  const entries = new Map([
    ...(settings !== undefined && includesSettings(agent) ? listEntries(settings()) : []),
    ...listEntries(agent),
  ]);
  const servers: McpServer[] = [];
  const broken = new Map<string, BudgieError>();
  for (const [name, entry] of entries) {
    try {
      servers.push(parseServer(name, { ...entry, registry }));
    } catch (error) {
      if (!(error instanceof BudgieError)) throw error;
      broken.set(name, error);
    }
  }
  return { servers, broken };
}

type Entry = { readonly value: unknown; readonly source: ConfigSource };

const INCLUDING = ["includeMcpJson", "useLegacyMcpJson"];

/** Tells whether an agent's file includes the user's settings, under the key's current name or its older one. */
function includesSettings({ content }: ConfigSource): boolean {
  const keys = Object(content) as Readonly<Record<string, unknown>>;
  return INCLUDING.some((key) => keys[key] === true);
}

const fileSchema = z.looseObject({ mcpServers: z.record(z.string(), z.unknown()).nullish() });

function listEntries(source: ConfigSource): readonly (readonly [string, Entry])[] {
  const parsed = fileSchema.safeParse(source.content);
  if (!parsed.success) throw faultError(formatPlace(source, "mcpServers"), "an object");
  const entries = Object.entries(parsed.data.mcpServers ?? {});
  if (entries.length > MOST_SERVERS)
    throw faultError(formatPlace(source, "mcpServers"), `at most ${MOST_SERVERS} servers`);
  return entries.map(([name, value]) => [name, { value, source }]);
}

function parseServer(name: string, { registry, source, value }: Entry & Pick<ConfigSources, "registry">): McpServer {
  const from = formatPlace(source, `mcpServers.${name}`);
  if (!PLAIN_NAME.test(name) || name.length > LONGEST_NAME || name === "builtin") {
    throw faultError(
      formatPlace(source, "mcpServers"),
      `servers with names of at most ${LONGEST_NAME} characters, no slash`,
    );
  }
  const entry = parseEntry(value, from);
  if (entry.type !== "registry") return buildServer({ name, from }, entry);
  const known = findInRegistry(name, registry?.());
  const own = Object(value) as Readonly<Record<string, unknown>>;
  return buildServer(
    { name, from },
    parseEntry({ ...known, ...own, ...mergeValues(known, entry), type: undefined }, from),
  );
}

/** Merges the variables and headers of a registry with those of the user's entry, which take precedence. */
function mergeValues(known: Readonly<Record<string, unknown>>, { env, headers }: ServerEntry) {
  return {
    env: { ...Object(known["env"]), ...env },
    headers: { ...Object(known["headers"]), ...headers },
  };
}

function parseEntry(value: unknown, from: string): ServerEntry {
  const parsed = serverEntrySchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const key = issue?.path.join(".") ?? "";
  throw new BudgieError(
    "CONFIG_INVALID",
    `The MCP server ${from} is wrong${key && ` at "${key}"`}: ${issue?.message}.`,
  );
}

type Origin = Pick<McpServer, "from" | "name">;

function buildServer(place: Origin, entry: ServerEntry): McpServer {
  const { args, command, disabled, disabledTools, env, headers, oauthScopes, timeout, url } = entry;
  const shared = { ...place, timeoutMs: timeout, disabled, disabledTools };
  if (command !== undefined && url !== undefined) throw faultError(place.from, 'to have "command" or "url", not both');
  if (command !== undefined) return { ...shared, type: "stdio", command, args, env };
  if (url === undefined) throw faultError(place.from, 'to have "command" or "url"');
  if (!isSafeUrl(url)) throw faultError(place.from, 'to have a "url" with https, or http on this machine');
  return { ...shared, type: "http", url, headers, scopes: oauthScopes };
}

function faultError(place: string, expected: string): BudgieError {
  return new BudgieError("CONFIG_INVALID", `Expected ${place} to be ${expected}.`.replace("to be to have", "to have"));
}
