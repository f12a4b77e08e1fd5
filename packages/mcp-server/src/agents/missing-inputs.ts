import { existsSync } from "node:fs";
import type { Agent } from "@budgie/core";
import { listVariables } from "../elsewhere/header-variables.ts";
import type { Host } from "../process/host.ts";

type MissingInputs = {
  /** The names of variables that are not set */
  readonly variables: readonly string[];
  /** The paths of files that do not exist */
  readonly files: readonly string[];
};

/** Finds what an agent needs and this machine lacks: variables, and in a sandbox the files of its home. */
export function findMissingInputs(
  { program, remote }: Agent,
  { sandbox }: { readonly sandbox: boolean },
  { env }: Pick<Host, "env">,
): MissingInputs {
  const needed = [...(program?.env ?? []), ...listVariables(remote?.headers ?? {})];
  const files = sandbox ? Object.values(program?.home ?? {}) : [];
  return {
    variables: needed.filter((name) => !env[name]),
    files: files.filter((file) => !existsSync(file)),
  };
}
