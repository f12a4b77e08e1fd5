import type { RunnerSession, StartOptions } from "@budgie/core";
import { TurnEvents } from "@budgie/core/protocol";
import type { AcpProgram } from "./conversation/acp-program.ts";
import { connectAgent } from "./conversation/connection.ts";
import { openConversation } from "./conversation/open-conversation.ts";
import { createPermissions } from "./conversation/permissions.ts";
import { toFailure } from "./to-failure.ts";

/** A program to try, and its place. */
export type ProgramTrial = Pick<StartOptions, "access" | "directory" | "signal"> & {
  /** The agent's name, for messages */
  readonly agent: string;
  readonly program: AcpProgram;
  readonly session: RunnerSession;
  /** The limit of each request; default 60 s, as in a turn */
  readonly timeoutMs?: number | undefined;
};

const TIMEOUT_MS = 60_000;

/** Starts a program as a turn does, begins a conversation with it, and stops it. Sends no prompt. Throws what the turn would throw. */
export async function tryProgram({
  agent,
  program,
  session,
  timeoutMs = TIMEOUT_MS,
  ...start
}: ProgramTrial): Promise<void> {
  const { command, permission } = program;
  const cwd = session.paths(start.directory).workspace;
  const deadline = Number.POSITIVE_INFINITY;
  const connection = connectAgent(await session.start(command, start));
  connection.begin({ permissions: createPermissions(permission), events: new TurnEvents() });
  try {
    const conversation = { agent, program, cwd, id: undefined, begunMs: undefined, servers: [] };
    await openConversation(connection, { ...conversation, limitMs: () => timeoutMs });
  } catch (error) {
    throw toFailure(error, { agent, program: command.argv[0], timeoutMs, deadline });
  } finally {
    await connection.stop("shutdown");
  }
}
