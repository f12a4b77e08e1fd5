import { createTwoFilesPatch, FILE_HEADERS_ONLY } from "diff";
import { escapeForTerminal } from "@budgie/core/text";
import { isEntry } from "./config-format.ts";
import { isBudgie, serverOf, type Target } from "./with-server.ts";

// All keys that install writes are shown for budgie; another server's arguments may contain a password.
const ALWAYS = ["type"];
const OF_BUDGIE = ["command", "args", "tools", "timeout", "required", "startup_timeout_sec", "tool_timeout_sec"];
const LONGEST_LINE = 200;

/** Returns the diff of two configurations, with the values of other servers masked. */
export function formatDiff(before: string, after: string, target: Target): string {
  return formatPatch(target.file, [before, after], (text) => {
    const server = serverOf(text, target);
    const shown = isBudgie(server)
      ? [...ALWAYS, ...OF_BUDGIE]
      : [...ALWAYS, ...(hasPlainCommand(server) ? ["command"] : [])];
    return target.format.mask(text, target.path, new Set(shown));
  });
}

/** Returns the diff of two texts of a file after masking. An empty text stands for a missing file. */
export function formatPatch(file: string, texts: readonly [string, string], mask: (text: string) => string): string {
  const [old, fresh] = texts.map((text) => mask(text).replaceAll("\r", ""));
  const options = { context: 2, headerOptions: FILE_HEADERS_ONLY };
  const [from, to] = texts.map((text) => (text === "" ? "/dev/null" : file));
  const patch = createTwoFilesPatch(from ?? "", to ?? "", old ?? "", fresh ?? "", undefined, undefined, options);
  return patch.split("\n").map(formatLine).join("\n");
}

/** Returns whether a server's `command` is without its arguments. */
function hasPlainCommand(server: unknown): boolean {
  return isEntry(server) && typeof server["command"] === "string";
}

function formatLine(line: string): string {
  const shown = escapeForTerminal(line.replaceAll("\t", "  "));
  return shown.length > LONGEST_LINE ? `${shown.slice(0, LONGEST_LINE)}…` : shown;
}
