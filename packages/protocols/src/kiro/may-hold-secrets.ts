import { closeSync, constants, existsSync, openSync, readSync, realpathSync } from "node:fs";
import { extname, join, relative } from "node:path";
import { beginsFrontmatter } from "@budgie/core/agents";
import { isWithin } from "@budgie/core/policy";

// Settings hold tokens of MCP servers. Like hooks and workflows, they would also change how Kiro works. `sub-agents` has the homes of
// sessions.
const SECRET_FOLDERS =
  /^(?:hooks|logs|session-index|sessions|settings|sub-agents(?!\/prompts\/)|workflows|workspace-roots)(?:\/|$)/i;
const SECRET_NAMES = /^\.|^mcp\.json(?:\.|$)|\.(?:db|env|key|p12|pem|pfx|sqlite3?)$/i;

/**
 * Returns true if a file below `~/.kiro` may hold secrets, judging by its path, and in `agents` also by its start. An agent's file may hold
 * them in its MCP servers, and so may whatever an editor or Kiro keeps beside it, such as `reviewer.json.bak`.
 */
export function mayHoldSecrets(path: string, kiroDir: string): boolean {
  if (!isWithin(path, kiroDir)) return false;
  const below = relative(kiroDir, path);
  return (
    SECRET_FOLDERS.test(below) ||
    below.split("/").some((name) => SECRET_NAMES.test(name)) ||
    ((/^agents\//i.test(below) || isWithin(path, resolveFolder(join(kiroDir, "agents")))) && !isPrompt(path))
  );
}

/** Resolves a folder that may be a symlink, such as one to dotfiles; the path itself if there is none. */
function resolveFolder(folder: string): string {
  return existsSync(folder) ? realpathSync(folder) : folder;
}

/** Returns true for Markdown without frontmatter, which is a prompt and no agent. */
export function isPrompt(file: string): boolean {
  if (extname(file).toLowerCase() !== ".md") return false;
  const start = readStart(file);
  return start !== undefined && !beginsFrontmatter(start);
}

const START_BYTES = 1024;

/** Reads the start of a file; `undefined` if it cannot be read, or begins with nothing but blanks. */
function readStart(file: string): string | undefined {
  try {
    // Without O_NONBLOCK, opening a pipe would wait for a writer.
    const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const buffer = Buffer.alloc(START_BYTES);
      const length = readSync(descriptor, buffer, 0, START_BYTES, 0);
      const start = buffer.toString("utf8", 0, length);
      return length === START_BYTES && start.trim() === "" ? undefined : start;
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return undefined;
  }
}
