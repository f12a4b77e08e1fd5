import { SAFE_LENGTH } from "../names/tool-name.ts";
import type { Tool } from "./tool.ts";

/** Returns warnings about tool names that some clients refuse or shorten beyond recognition. */
export function listNameWarnings(tools: readonly Tool[]): readonly string[] {
  return tools.map(findWarning).filter((warning) => warning !== undefined);
}

// Cursor allows 60 characters together with the server's name.
const CURSOR_LENGTH = 52;

function findWarning({ aliases, definition: { name } }: Tool): string | undefined {
  const whole = aliases.find(({ length }) => length > SAFE_LENGTH);
  if (whole !== undefined) {
    return (
      `The tool "${name}" is short for "${whole}", since --tool-names safe allows ${SAFE_LENGTH} characters; Cursor may ` +
      `leave it out all the same. Shorten the agent's name, or --tool-prefix.`
    );
  }
  if (name.length > SAFE_LENGTH) {
    return (
      `The tool name "${name}" is longer than ${SAFE_LENGTH} characters, and Claude Desktop, Kiro and the OpenAI API refuse ` +
      `such names. Shorten the agent's name, or --tool-prefix, or use --tool-names safe.`
    );
  }
  if (name.length <= CURSOR_LENGTH) return undefined;
  return (
    `The tool name "${name}" is longer than ${CURSOR_LENGTH} characters, and Cursor leaves out tools whose names have more ` +
    `than 60 together with the server's. Shorten the agent's name, or --tool-prefix.`
  );
}
