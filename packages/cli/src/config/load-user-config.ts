import { BudgieError } from "@budgie/core";
import { checkFilesBy, readPlainFile } from "@budgie/core/text";
import { parseConfig, type Config } from "./config.ts";
import { openUserFileTrust, resolvePath, findStateDir, type Host } from "@budgie/mcp-server";

/** The values of options, by their keys. */
type Values = Parameters<typeof parseConfig>[0];

/** Returns the state directory without the configuration file, which an agent may have written. */
export function findGivenStateDir({ stateDir }: Values, host: Host): string {
  return resolvePath(typeof stateDir === "string" ? stateDir : findStateDir(host), host);
}

/**
 * Parses the configuration, and has all files of settings refused from now on that an agent may have written. Throws `CONFIG_INVALID` for such
 * a configuration file, and for such certificates, which are only mounted.
 */
export function loadUserConfig(values: Values, host: Host, defaults?: Values): Config {
  const given = findGivenStateDir(values, host);
  // The bytes that are parsed are those that are checked.
  checkFilesBy(openUserFileTrust({ stateDir: given }, host));
  const config = parseConfig(values, host, defaults);
  // The file may name the state directory, and must not choose what it is checked by.
  if (config.stateDir !== given) {
    checkFilesBy(openUserFileTrust({ stateDir: config.stateDir }, host));
    if (config.config !== undefined) checkOne(resolvePath(config.config, host), "--config");
  }
  if (config.caFile !== undefined) checkOne(config.caFile, "--ca-file");
  return config;
}

function checkOne(file: string, option: string): void {
  try {
    readPlainFile(file);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    throw new BudgieError("CONFIG_INVALID", `Cannot use the file "${file}" of ${option}: ${code ?? message}.`, {
      cause,
    });
  }
}
