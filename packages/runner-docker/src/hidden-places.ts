import { lstat } from "node:fs/promises";
import { join } from "node:path";
import type { MountSettings } from "dockerode";
import { BudgieError } from "@budgie/core";
import { SANDBOX } from "./container-options.ts";

/**
 * Where Kiro, or the program that it came from, takes an agent's definition from the folder that it works in: agents, MCP
 * servers and settings, hooks. What it takes as context, such as `.kiro/steering`, stays.
 */
const PLACES: readonly Place[] = [
  { path: ".kiro/agents", kind: "folder" },
  { path: ".kiro/settings", kind: "folder" },
  { path: ".kiro/hooks", kind: "folder" },
  { path: ".amazonq/cli-agents", kind: "folder" },
  { path: ".amazonq/mcp.json", kind: "file" },
];

type Place = { readonly path: string; readonly kind: "folder" | "file" };

/** What lies in place of a hidden list of MCP servers. */
export const NO_SERVERS = '{ "mcpServers": {} }\n';

/**
 * A repository must not redefine the configured agent, so each such place of its own is covered: a folder by an empty one, a
 * list of servers by `noServersFile`. An absent one is left alone, since the engine would make it in the user's repository;
 * anything but what Kiro would read there is refused, since no mount would hide it for sure.
 */
export async function toHidingMounts(workspace: string, noServersFile: string): Promise<MountSettings[]> {
  const found = await Promise.all(PLACES.map(async (place) => ({ place, exists: await isThere(workspace, place) })));
  return found.filter(({ exists }) => exists).map(({ place }) => toHidingMount(place, noServersFile));
}

/** An empty folder that nobody can write to, in place of whatever is there. */
export function emptyFolder(target: string): MountSettings {
  const TmpfsOptions = { SizeBytes: 64 * 1024, Mode: 0o555 };
  return { Type: "tmpfs", Source: "", Target: target, ReadOnly: true, TmpfsOptions };
}

function toHidingMount({ kind, path }: Place, noServersFile: string): MountSettings {
  const target = `${SANDBOX.workspace}/${path}`;
  if (kind === "folder") return emptyFolder(target);
  return { Type: "bind", Source: noServersFile, Target: target, ReadOnly: true };
}

async function isThere(workspace: string, { kind, path }: Place): Promise<boolean> {
  const parts = path.split("/");
  for (const [index] of parts.entries()) {
    const part = join(workspace, ...parts.slice(0, index + 1));
    const expected = index === parts.length - 1 ? kind : "folder";
    const found = await lstat(part).catch((error: NodeJS.ErrnoException) => error);
    if ("code" in found && found.code === "ENOENT") return false;
    // What budgie may not look at, an agent of the same user can make visible again.
    const fits = !(found instanceof Error) && (expected === "folder" ? found.isDirectory() : found.isFile());
    if (!fits) throw unhideable(part, expected);
  }
  return true;
}

function unhideable(path: string, expected: Place["kind"]): BudgieError {
  const what = expected === "folder" ? "directory" : "file";
  return new BudgieError(
    "WORKSPACE_INVALID",
    `"${path}" is not a plain ${what}, so the sandbox cannot hide what the repository says of agents. Remove it, or make it one.`,
  );
}
