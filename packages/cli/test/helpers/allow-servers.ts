import { PassThrough } from "node:stream";
import { loadAgents, type Agent } from "@budgie/core";
import type { Host } from "@budgie/mcp-server";
import { findServersOf, storePins } from "@budgie/mcp-manager/agents";
import { toServersConfig } from "@budgie/mcp-server/commands";
import { runCli } from "../../src/run-cli.ts";
import { parseConfig, type Config } from "../../src/config/config.ts";
import { toSilentHost } from "./to-silent-host.ts";

type Given = Pick<Host, "home"> &
  Partial<Pick<Host, "cwd" | "env">> & {
    /** More words of the command line */
    readonly args?: readonly string[];
    /** The words that the person types; default `y` */
    readonly answer?: string;
  };

/** Allows MCP servers as a person at a terminal does. Returns what the last command printed, and its exit code. */
export async function allowServers(
  names: readonly string[],
  { answer = "y", args = [], home, cwd = home, env = {} }: Given,
) {
  let finished = { exitCode: 0, stdout: "" };
  for (const name of names) {
    const [stdin, stdout] = [new PassThrough(), new PassThrough()];
    stdin.end(`${answer}\n`);
    const host = toSilentHost({ home, cwd, env, stdin, stdout, stdinIsTerminal: true, columns: 80 });
    const exitCode = await runCli(["mcp", "allow", name, ...args], host);
    finished = { exitCode, stdout: String((stdout.read() as Buffer | null) ?? "") };
  }
  return finished;
}

/** Allows all servers of an agent that wait for it, without a terminal. */
export function allowFound(agent: Agent, { config, host }: { readonly config: Config; readonly host: Host }): void {
  const found = findServersOf([agent], toServersConfig(config, host));
  storePins(
    found.flatMap(({ use }) => ("pin" in use ? [use.pin] : [])),
    config,
  );
}

/** Allows all servers of all agents in a home that wait for it, without a terminal. */
export function allowAll(home: string, configFile: string): void {
  const host = toSilentHost({ home, cwd: home });
  const config = parseConfig({ config: configFile }, host);
  for (const agent of loadAgents(config).agents) allowFound(agent, { config, host });
}
