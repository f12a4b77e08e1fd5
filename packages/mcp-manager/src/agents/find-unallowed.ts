import { createHash } from "node:crypto";
import { lstatSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { parseJson, readPlainFile, toShellCommand, writeStateFile } from "@budgie/core/text";
import type { McpServer } from "../config/mcp-server.ts";
import type { ServerPlace } from "./server-place.ts";
import type { ServersConfig } from "./servers-config.ts";

/** A server's entry with its variables as they are written, its place, and the names of the user's variables that it may use. */
export type PinnedEntry = {
  readonly server: McpServer;
  readonly place: ServerPlace;
  readonly names: readonly string[];
};

/** An allowed entry of an agent's server: a person at a terminal saw what has this hash. */
export type ServerPin = z.infer<typeof pinSchema>;

const pinSchema = z.object({ agent: z.string(), server: z.string(), hash: z.string() });

/** A server that may be started once a person at a terminal has allowed its entry. */
export type WaitingServer = {
  readonly state: "not-allowed";
  readonly reason: string;
  readonly entry: PinnedEntry;
  readonly pin: ServerPin;
  /** The command that shows and allows it */
  readonly todo: string;
};

type Known = {
  readonly agent: string;
  readonly config: Pick<ServersConfig, "commandOptions">;
  readonly pins: () => readonly ServerPin[];
};

/** Returns a server whose entry nobody has allowed as it is now; `undefined` if it was allowed, or needs no pin. */
export function findUnallowed(entry: PinnedEntry, { agent, config, pins }: Known): WaitingServer | undefined {
  if (!needsPin(entry)) return undefined;
  const pin = { agent, server: entry.server.name, hash: hashPin(entry) };
  if (pins().some((one) => one.agent === agent && one.server === pin.server && one.hash === pin.hash)) return undefined;
  const todo = allowCommand(pin, config);
  const why = entry.place.run === "host" ? "it runs on this machine" : "it has variables or headers";
  const reason = `${why}, and its entry is new or has changed. At a terminal, "${todo}" shows and allows it.`;
  return { state: "not-allowed", reason, entry, pin, todo };
}

/** Returns the command that allows a server. */
function allowCommand({ agent, server }: ServerPin, { commandOptions }: Known["config"]): string {
  return toShellCommand(["budgie", "mcp", "allow", server, "--agent", agent, ...commandOptions]);
}

/** Returns true for a server with the user's rights or secrets: it runs on this machine, or has variables or headers. */
function needsPin({ names, place, server }: PinnedEntry): boolean {
  const values = server.type === "stdio" ? server.env : server.headers;
  return place.run === "host" || names.length > 0 || Object.keys(values).length > 0;
}

/** Returns the hash of what an entry runs, where, and with which values. Another file, timeout or list of tools keeps the hash. */
function hashPin({ names, place, server }: PinnedEntry): string {
  const image = place.run === "sandbox" ? (place.image ?? null) : null;
  const facts =
    server.type === "stdio"
      ? [server.command, server.args, sortEntries(server.env)]
      : [server.url, [], sortEntries(server.headers)];
  const text = JSON.stringify([server.type, place.run, image, names.toSorted(), ...facts]);
  return `sha256:${createHash("sha256").update(text).digest("hex")}`;
}

function sortEntries(values: Readonly<Record<string, string>>): readonly (readonly [string, string])[] {
  return Object.entries(values).toSorted(([one], [other]) => (one < other ? -1 : 1));
}

type StateDir = Pick<ServersConfig, "stateDir">;

/** Reads the pins. A file that is missing, a symlink, too large or not as budgie writes it allows nothing. */
export function readPins({ stateDir }: StateDir): readonly ServerPin[] {
  const file = fileOf(stateDir);
  try {
    return lstatSync(file).isFile()
      ? (z.array(pinSchema).safeParse(parseJson(readPlainFile(file).text)).data ?? [])
      : [];
  } catch {
    return [];
  }
}

/** Writes pins in place of those of the same agents and servers. Throws `CONFIG_INVALID` if that fails. */
export function storePins(pins: readonly ServerPin[], { stateDir }: StateDir): void {
  if (pins.length === 0) return;
  const isReplaced = (old: ServerPin): boolean =>
    pins.some(({ agent, server }) => agent === old.agent && server === old.server);
  const all = [...readPins({ stateDir }).filter((old) => !isReplaced(old)), ...pins];
  writeStateFile(fileOf(stateDir), all);
}

function fileOf(stateDir: string): string {
  return join(stateDir, "mcp", "allowed.json");
}
