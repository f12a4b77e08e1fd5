import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createMcpManager, formatEvent, type McpManager } from "@budgie/mcp-manager";
import type { UsableServer } from "@budgie/mcp-manager/agents";
import { connectAt } from "@budgie/mcp-manager/connections";
import { loadVersion, type Host } from "@budgie/mcp-server";
import { toServersConfig } from "@budgie/mcp-server/commands";
import type { Config } from "../../config/config.ts";
import { escapeForTerminal } from "@budgie/core/text";
import { openSandboxes } from "./open-sandboxes.ts";

/** The servers to manage, and the way to end them. */
export type Managed = {
  readonly config: Config;
  readonly host: Host;
  readonly servers: readonly UsableServer[];
  /** Ends the servers; the work then rejects with its reason */
  readonly signal: AbortSignal;
};

/** Runs work with a manager of servers, and always ends them. Reports their events on stderr, and writes their logs to files. */
export async function withManager<Result>(
  { config, host, servers, signal }: Managed,
  work: (manager: McpManager) => Promise<Result>,
): Promise<Result> {
  signal.throwIfAborted();
  await using sandboxes = openSandboxes(config, host);
  const manager = createMcpManager({
    // The user looks at changed tools before approving them.
    servers: servers.map((server) => ({ ...server, refusesOthers: false })),
    connect: connectAt(servers, { config: toServersConfig(config, host), sandboxes }),
    client: { name: "budgie", version: loadVersion() },
    onEvent(event) {
      if (NEWS.has(event.kind)) host.report(escapeForTerminal(formatEvent(event)));
    },
  });
  let stopping: PromiseLike<void> | undefined;
  const stop = (): PromiseLike<void> => (stopping ??= manager[Symbol.asyncDispose]());
  // The `finally` block awaits it, and reports a failure.
  signal.addEventListener("abort", () => void stop().then(undefined, () => undefined), { once: true });
  try {
    return await work(manager);
  } finally {
    await stop();
    for (const { server } of servers) writeLog(server.name, { config, lines: manager.logs(server.name) });
    signal.throwIfAborted();
  }
}

const NEWS: ReadonlySet<string> = new Set(["error", "needs-auth", "restarting", "tools-changed"]);

/** Returns the path of a server's log file. */
export function logFile(name: string, { stateDir }: Pick<Config, "stateDir">): string {
  return join(stateDir, "mcp", `${name}.log`);
}

type Written = { readonly config: Pick<Config, "stateDir">; readonly lines: readonly string[] };

function writeLog(name: string, { config, lines }: Written): void {
  mkdirSync(join(config.stateDir, "mcp"), { recursive: true, mode: 0o700 });
  writeFileSync(logFile(name, config), lines.map((line) => `${line}\n`).join(""), { mode: 0o600 });
}
