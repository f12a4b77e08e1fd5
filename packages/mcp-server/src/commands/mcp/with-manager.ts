import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createMcpManager, toEventText, type McpManager } from "@budgie/mcp-manager";
import { connectAt } from "../../agent-servers/connect-at.ts";
import type { Config } from "../../config/config.ts";
import type { Host } from "../../process/host.ts";
import { interruptible } from "../../process/interruptible.ts";
import { loadVersion } from "../../process/version.ts";
import { escapeForTerminal } from "../../terminal/printable.ts";
import type { UsableServer } from "../../agent-servers/find-servers.ts";
import { openSandboxes } from "./open-sandboxes.ts";

/** Works with a manager of servers, which ends them in any case. Their news go to stderr, their words to files. */
export async function withManager<Result>(
  {
    config,
    host,
    servers,
  }: { readonly config: Config; readonly host: Host; readonly servers: readonly UsableServer[] },
  work: (manager: McpManager, signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  return interruptible(host, async (signal) => {
    await using sandboxes = openSandboxes(config, host);
    const manager = createMcpManager({
      servers,
      connect: connectAt(servers, { config, host, sandboxes }),
      client: { name: "budgie", version: loadVersion() },
      onEvent(event) {
        if (NEWS.has(event.kind)) host.report(escapeForTerminal(toEventText(event)));
      },
    });
    const stop = (): void => void manager[Symbol.asyncDispose]();
    signal.addEventListener("abort", stop, { once: true });
    try {
      return await work(manager, signal);
    } finally {
      await manager[Symbol.asyncDispose]();
      for (const { server } of servers) writeLog(server.name, { config, lines: manager.logs(server.name) });
    }
  });
}

const NEWS: ReadonlySet<string> = new Set(["error", "needs-auth", "restarting", "words-changed"]);

/** Returns the file of a server's last lines. */
export function toLogFile(name: string, { stateDir }: Pick<Config, "stateDir">): string {
  return join(stateDir, "mcp", `${name}.log`);
}

type Written = { readonly config: Pick<Config, "stateDir">; readonly lines: readonly string[] };

function writeLog(name: string, { config, lines }: Written): void {
  mkdirSync(join(config.stateDir, "mcp"), { recursive: true, mode: 0o700 });
  writeFileSync(toLogFile(name, config), lines.map((line) => `${line}\n`).join(""), { mode: 0o600 });
}
