import { lstat, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Stats } from "node:fs";
import type { Agent } from "../agents/agent.ts";
import { toHidden } from "../policy/hidden-paths.ts";
import type { AgentProcess, Command, StartOptions } from "../runner/runner.ts";

/** A start of an agent's process. */
export type Start = {
  readonly agent: Agent;
  readonly command: Command;
  readonly options: StartOptions;
  /** Called with the network access of the process that the session's last turn left, once that process has ended */
  readonly onDeparted: (egress: AgentProcess["egress"]) => void;
};

/**
 * Reads everything that a process gets at its start and keeps until its end: two starts with equal facts would create the same process. The
 * host's files are compared by their identity and time, since a mount shows the file that was there at the start.
 */
export async function readStartFacts({ agent, command, options }: Omit<Start, "onDeparted">): Promise<unknown> {
  const { access, directory, protectedPaths } = options;
  const { ofWorkspace } = toHidden(command);
  const covered = Object.keys(ofWorkspace).map((name) => join(directory, name));
  const seeds = (command.home ?? []).flatMap(({ content }) => (typeof content === "string" ? [] : [content.file]));
  const given = [...command.projections.map(({ source }) => source), ...seeds];
  return {
    agent,
    command,
    access,
    directory,
    protectedPaths,
    workspace: await stat(directory).then((facts) => `${toIdentity(facts)}:${facts.gid}`, toCode),
    covered: await Promise.all(covered.map((path) => lstat(path).then(toVersion, toCode))),
    given: await Promise.all(given.map((path) => stat(path).then(toVersion, toCode))),
  };
}

function toIdentity({ dev, ino }: Stats): string {
  return `${dev}:${ino}`;
}

function toVersion(facts: Stats): string {
  return `${toIdentity(facts)}:${facts.mtimeMs}:${facts.size}`;
}

function toCode(error: NodeJS.ErrnoException): string | undefined {
  return error.code;
}
