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
 * a configuration file, which was read to get here, and for such certificates, which are only mounted.
 */
export function loadUserConfig(values: Values, host: Host, defaults?: Values): Config {
  const config = parseConfig(values, host, defaults);
  const given = findGivenStateDir(values, host);
  // The file may name the state directory, and must not choose what it is checked by.
  for (const stateDir of new Set([given, config.stateDir])) {
    checkFilesBy(openUserFileTrust({ stateDir }, host));
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
