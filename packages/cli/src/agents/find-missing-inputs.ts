import { existsSync } from "node:fs";
import type { Agent } from "@budgie/core";
import type { Host, ServerConfig } from "@budgie/mcp-server";
import { findMissingVariables, listVariables } from "@budgie/mcp-server/commands";

type MissingInputs = {
  /** The names of variables that are not set */
  readonly variables: readonly string[];
  /** The paths of files that do not exist */
  readonly files: readonly string[];
};

/** Finds what an agent needs and this machine lacks: variables, and in a sandbox the files of its home. */
export function findMissingInputs(
  { name, program, remote }: Agent,
  config: Pick<ServerConfig, "agentEnv" | "sandbox">,
  { env }: Pick<Host, "env">,
): MissingInputs {
  const inHeaders = listVariables(remote?.headers ?? {}).filter((variable) => !env[variable]);
  const files = config.sandbox ? Object.values(program?.home ?? {}) : [];
  return {
    variables: [...findMissingVariables(config, name, env), ...inHeaders],
    files: files.filter((file) => !existsSync(file)),
  };
}
