import { BudgieError } from "@budgie/core";
import { readUnchecked, escapeForTerminal } from "@budgie/core/text";
import { openUserFileTrust, resolvePath, EXIT, type Host } from "@budgie/mcp-server";
import type { Config } from "../../config/config.ts";
import { isYes, refuseWithoutPerson } from "../../process/refuse-without-person.ts";

/**
 * Runs `budgie config trust`: shows a file that agents could write, asks, and trusts it as it is. Resolves to 1 if the answer is not "y". Throws
 * `INPUT_INVALID` without a terminal, and for a file that cannot be read.
 */
export async function trustFile(place: Pick<Config, "stateDir">, file: string, host: Host): Promise<number> {
  refuseWithoutPerson(host, `Only a person can trust the file "${file}"`);
  const trust = openUserFileTrust(place, host);
  const { bytes, realPath: path } = read(resolvePath(file, host));
  const directory = trust.findDirectory(path);
  if (directory === undefined) {
    host.stdout.write(`${escapeForTerminal(`No agent could write "${path}": there is nothing to trust.`)}\n`);
    return EXIT.done;
  }
  const lines = bytes.toString("utf8").trimEnd().split("\n");
  const head = [`The file "${path}"`, `lies in "${directory}", where agents could write.`, ""];
  // All of it, since all of it is trusted.
  host.stdout.write(`${[...head, ...lines].map(escapeForTerminal).join("\n")}\n\nTrust it until it changes? [y/N] `);
  if (!(await isYes(host))) {
    host.stdout.write("Not trusted.\n");
    return EXIT.failed;
  }
  // These bytes were shown, whatever the file says by now.
  trust.trust(path, bytes);
  host.stdout.write("Trusted.\n");
  return EXIT.done;
}

function read(file: string): ReturnType<typeof readUnchecked> {
  try {
    return readUnchecked(file);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    throw new BudgieError("INPUT_INVALID", `Cannot read "${file}": ${code ?? message}.`, { cause });
  }
}
