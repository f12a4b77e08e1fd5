import { createHash } from "node:crypto";
import { existsSync, rmSync } from "node:fs";
import { basename, dirname, extname, join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { BudgieError, ensureMountedFile, type Agent } from "@budgie/core";
import { readAgentFile, listServerEntries, type AgentDefinition, type ParsedAgentFile } from "@budgie/core/agents";
import { toV2Definition } from "@budgie/protocols/kiro";
import type { ServersConfig } from "../agents/servers-config.ts";

/** The URL of a server in a sandbox, and the timeout of one request, in milliseconds. */
export type Reachable = { readonly url: string; readonly timeoutMs: number };

type AgentPlace = Pick<Agent, "file" | "name">;

/** Tells whether an agent's file names MCP servers, or includes those of the user's settings. */
export function namesServers(agent: AgentPlace): boolean {
  const parsed = tryRead(agent);
  if (parsed === undefined) return false;
  const { includeMcpJson, useLegacyMcpJson } = parsed.definition;
  const isIncluding = includeMcpJson === true || useLegacyMcpJson === true;
  return isIncluding || Object.keys(listServerEntries(parsed.definition)).length > 0;
}

/** Tells whether Kiro's V2 harness cannot read an agent's file, or would read it differently: it reads JSON of one folder. */
export function needsCopy(agent: AgentPlace): boolean {
  const parsed = tryRead(agent);
  if (parsed === undefined) return false;
  const { definition, fields, format } = parsed;
  if (format === "markdown" || agent.name.includes("/")) return true;
  return !isDeepStrictEqual(toV2Definition(definition, agent.file), fields);
}

type CopiesOwner = { readonly config: Pick<ServersConfig, "stateDir">; readonly instance: string };

/** Returns the folder of the copies that one budgie writes. */
export function copiesFolder(owner: CopiesOwner): string {
  return join(scratchFolder(owner), "agents");
}

/** Removes the copies when no agent runs any more. A sandbox's runner does so too, with its own scratch files. */
export function removeCopies(owner: CopiesOwner): void {
  const folder = scratchFolder(owner);
  // Nothing was written if the state directory cannot be created.
  if (existsSync(folder)) rmSync(folder, { recursive: true });
}

function scratchFolder({ config, instance }: CopiesOwner): string {
  return join(config.stateDir, "scratch", instance);
}

type CopiesFolder = {
  readonly folder: string;
  /** The servers in place of the file's own, by name; left out, the file keeps its own */
  readonly servers?: ReadonlyMap<string, Reachable>;
};

/** Writes the copy of an agent's file that V2 reads, in a folder of its own. Returns its path. */
export function writeShownFile(agent: AgentPlace, { folder, servers }: CopiesFolder): string {
  const { file } = agent;
  const { definition } = readAgentFile(agent);
  const shown = toV2Definition(servers === undefined ? definition : withServers(definition, servers), file);
  const text = JSON.stringify({ ...shown, ...resolvePrompt(definition, file) }, undefined, 2);
  // Named by its content, since a mounted file must not change.
  const hash = createHash("sha256").update(text).digest("hex").slice(0, 32);
  return ensureMountedFile(join(folder, hash), `${basename(file, extname(file))}.json`, text);
}

function withServers(definition: AgentDefinition, servers: ReadonlyMap<string, Reachable>): AgentDefinition {
  const { includeMcpJson: _, useLegacyMcpJson: __, ...rest } = definition;
  const entries = [...servers].map(([name, { timeoutMs, url }]) => [name, { type: "http", url, timeout: timeoutMs }]);
  return { ...rest, mcpServers: Object.fromEntries(entries) };
}

/** Returns the prompt with an absolute path in place of one that counts from the file. */
function resolvePrompt({ prompt }: AgentDefinition, file: string): { readonly prompt?: string } {
  const path = /^file:\/\/(?![/~])(.+)$/.exec(prompt ?? "")?.[1];
  return path === undefined ? {} : { prompt: `file://${resolve(dirname(file), path)}` };
}

/** Reads an agent's file; `undefined` if that fails, which the agent's turn reports. */
function tryRead(agent: AgentPlace): ParsedAgentFile | undefined {
  try {
    return readAgentFile(agent);
  } catch (error) {
    if (error instanceof BudgieError) return undefined;
    throw error;
  }
}
