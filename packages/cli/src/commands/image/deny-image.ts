import { escapeForTerminal } from "@budgie/core/text";
import { EXIT, type Host } from "@budgie/mcp-server";
import { removeImageApproval } from "@budgie/sandbox/images";
import type { Config } from "../../config/config.ts";
import { findProject } from "./find-project.ts";

/** Runs `budgie image deny`: takes back what was allowed. The next turn has the default image, and `budgie gc` removes the project's. */
export function denyImage(config: Config, named: string | undefined, host: Host): number {
  const { directory } = findProject(config, named, host);
  const removed = removeImageApproval(directory, config);
  const said = removed === undefined ? "was not allowed" : `is not allowed any more. "budgie gc" removes it`;
  host.stdout.write(`${escapeForTerminal(`The image of "${directory}" ${said}.`)}\n`);
  return EXIT.done;
}
