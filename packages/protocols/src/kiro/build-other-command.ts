import type { Command } from "@budgie/core";
import type { ProtocolTurn } from "@budgie/core/protocol";
import { findTurnFiles } from "./agent-files.ts";
import { buildCommand, buildKiroEnv } from "./build-kiro-command.ts";
import type { KiroOptions } from "./kiro-protocol.ts";

/** Builds a command that runs in place of Kiro in a turn: with the agent's files, Kiro's variables and its login. */
export function buildOtherCommand(
  options: Pick<KiroOptions, "env" | "projections" | "sandboxHome">,
  { agent, directory, session }: Pick<ProtocolTurn, "agent" | "directory" | "session">,
  argv: Command["argv"],
): Command {
  const env = buildKiroEnv(options, session.paths(directory).home, agent.shown);
  const { projections } = findTurnFiles(options, agent);
  return buildCommand(argv, { env, projections: [...options.projections, ...projections] });
}
