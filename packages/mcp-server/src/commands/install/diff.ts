import { createTwoFilesPatch, FILE_HEADERS_ONLY } from "diff";
import { escapeForTerminal } from "../../terminal/printable.ts";
import { isBudgie, serverOf, type Target } from "./edit-servers.ts";

// All keys that install writes are shown for budgie; another server's arguments may contain a password.
const ALWAYS = ["type", "command"];
const OF_BUDGIE = ["args", "timeout", "startup_timeout_sec", "tool_timeout_sec"];
const LONGEST_LINE = 200;

/** Returns the diff of two configurations, with the values of other servers masked. */
export function toDiff(before: string, after: string, target: Target): string {
  const [old, fresh] = [before, after].map((text) => {
    const shown = isBudgie(serverOf(text, target)) ? [...ALWAYS, ...OF_BUDGIE] : ALWAYS;
    return target.format.mask(text, target.path, new Set(shown)).replaceAll("\r", "");
  });
  const options = { context: 2, headerOptions: FILE_HEADERS_ONLY };
  const patch = createTwoFilesPatch(target.file, target.file, old ?? "", fresh ?? "", undefined, undefined, options);
  return patch.split("\n").map(toLine).join("\n");
}

function toLine(line: string): string {
  const shown = escapeForTerminal(line.replaceAll("\t", "  "));
  return shown.length > LONGEST_LINE ? `${shown.slice(0, LONGEST_LINE)}…` : shown;
}
