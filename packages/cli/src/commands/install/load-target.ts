import { join } from "node:path";
import { BudgieError } from "@budgie/core";
import type { Host } from "@budgie/mcp-server";
import { CLIENTS, type ClientName, type Scope } from "./clients.ts";
import type { Target } from "./with-server.ts";
import { jsonFormat } from "./json-format.ts";
import { loadClientFile, type ClientFile } from "./load-client-file.ts";
import { tomlFormat } from "./toml-format.ts";

/** The user's choice of a client, a scope and a name. */
export type Chosen = { readonly client: ClientName; readonly scope: Scope; readonly name: string };

/** Loads a client's configuration file for a scope. */
export function loadTarget({ client, name, scope }: Chosen, host: Host): { file: ClientFile; target: Target } {
  // The names that every client accepts; also bare keys of TOML
  if (!/^[A-Za-z][\w-]{0,39}$/.test(name)) {
    throw new BudgieError(
      "CONFIG_INVALID",
      `Expected --name to be a letter and up to 39 more letters, digits, "_" and "-", got ${JSON.stringify(name)}.`,
    );
  }
  const { format, projectFile, servers, toUserFile } = CLIENTS[client];
  const isProject = scope === "project";
  const path = isProject ? join(host.cwd, projectFile) : toUserFile(host);
  const file = loadClientFile(path, isProject ? host.cwd : undefined);
  return { file, target: { file: path, format: format === "json" ? jsonFormat : tomlFormat, path: [servers, name] } };
}
