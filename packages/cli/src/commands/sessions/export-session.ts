import { PassThrough, type Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { BudgieError } from "@budgie/core";
import { escapeForTerminal } from "@budgie/core/text";
import { AGENT_PRESETS, type AgentPreset } from "../../agents/agent-presets.ts";
import type { Config } from "../../config/config.ts";
import type { Host } from "@budgie/mcp-server";
import { interruptible } from "../../process/interruptible.ts";
import { writeNewFile } from "../../process/write-new-file.ts";
import { findSession } from "./find-session.ts";
import { withSessions } from "./known-homes.ts";
import { stringifySafely } from "../../terminal/stringify-safely.ts";

export type ExportOptions = {
  readonly id: string;
  /** A file that does not exist yet, or `-` for stdout */
  readonly file: string;
  readonly json: boolean;
};

/** Runs `budgie sessions export`: writes a session's home as a tar without the login, and reports what it left out. */
export async function exportSession(config: Config, options: ExportOptions, host: Host): Promise<number> {
  const { file, json } = options;
  const session = options.id;
  if (json && file === "-") {
    throw new BudgieError("CONFIG_INVALID", 'Expected a file with --json, since stdout cannot hold both, got "-".');
  }
  const leftOut = await interruptible(host, (signal) =>
    file === "-"
      ? pack({ config, session, host, signal }, host.stdout)
      : packIntoFile({ config, session, host, signal }, file),
  );
  if (json) host.stdout.write(stringifySafely({ session, file, leftOut }));
  else for (const what of leftOut) host.report(escapeForTerminal(`Left out: ${what}`));
  return 0;
}

type Packing = {
  readonly config: Config;
  /** The id, or its beginning */
  readonly session: string;
  readonly host: Host;
  readonly signal: AbortSignal;
};

function packIntoFile(packing: Packing, file: string): Promise<readonly string[]> {
  return writeNewFile(file, (opened) => pack(packing, opened.createWriteStream()));
}

async function pack({ config, host, session, signal }: Packing, out: Writable): Promise<readonly string[]> {
  return withSessions(config, host, async ({ list }) => {
    const found = findSession(await list(), session);
    const archive = new PassThrough();
    // stdout must stay open.
    const [leftOut] = await Promise.all([
      found.homes.pack(found.record.id, archive, { signal, logins: listLogins(config) }),
      pipeline(archive, out, { signal, end: out !== host.stdout }),
    ]);
    return leftOut;
  });
}

/** Lists the paths below a home at which agents' programs keep their logins: those that the configuration copies, and the usual ones. */
function listLogins({ configuredAgents = [] }: Config): readonly string[] {
  const copied = configuredAgents.flatMap(({ program }) => Object.keys(program?.home ?? {}));
  const usual = Object.values<AgentPreset>(AGENT_PRESETS).flatMap(({ login = [] }) => login);
  return [...new Set([...copied, ...usual])];
}
