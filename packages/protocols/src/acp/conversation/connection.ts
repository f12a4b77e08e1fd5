import * as acp from "@agentclientprotocol/sdk";
import type { z } from "zod";
import { BudgieError, type AgentProcess, type Exit, type StopReason } from "@budgie/core";
import { createTail, type TurnEvents } from "@budgie/core/protocol";
import { endsWithin } from "./first-of.ts";
import { createMessageStream } from "./message-stream.ts";
import type { Permissions } from "./permissions.ts";

/** A running agent, and the JSON-RPC connection with it. */
export type Connection = {
  /**
   * Sends a request. Rejects with the agent's own `acp.RequestError`, with `AGENT_FAILED` for an invalid answer, with `TIMED_OUT` after
   * `timeoutMs`, and with {@link EndedError} if the agent ends before it answers.
   */
  readonly request: <Schema extends z.ZodType>(
    method: string,
    params: unknown,
    expected: Expected<Schema>,
  ) => Promise<z.infer<Schema>>;
  /** Sends a notification; does not wait for an agent that does not read. */
  readonly notify: (method: string, params: unknown) => void;
  /** Sets the receiver of updates, which are not checked; without one they are discarded. */
  readonly onUpdate: (receive: ((params: unknown) => void) | undefined) => void;
  /** Passes the agent's output and its requests for permission on to a turn. */
  readonly begin: (turn: Peer) => void;
  /**
   * Ends the turn and keeps the agent: discards its output, cancels its requests, and stops it once it has printed more than 1 MiB.
   * Returns {@link NO_EXIT}.
   */
  readonly rest: () => Exit;
  /** Aborts, with a line as its reason, once Kiro reports that it did not take its agent */
  readonly refused: AbortSignal;
  /** Returns true until the agent's output or input has ended. */
  readonly isOpen: () => boolean;
  /** Ends the agent: closes its stdin, and stops it if it does not end by itself. Resolves to its exit. */
  readonly end: () => Promise<Exit>;
  /** Stops the agent now. Resolves to its exit. */
  readonly stop: (reason: StopReason) => Promise<Exit>;
};

type Expected<Schema extends z.ZodType> = {
  readonly answer: Schema;
  /** Default none */
  readonly timeoutMs?: number | undefined;
};

/** The error of a request to an agent that has ended. It is translated before it leaves this package. */
export class EndedError extends Error {
  readonly exit: Exit;
  /** The end of what the agent printed to stderr */
  readonly stderr: string;

  constructor(exit: Exit, stderr: string) {
    super("The agent has ended.");
    this.exit = exit;
    this.stderr = stderr;
  }
}

/** The parts of a turn that an agent talks to. */
type Peer = {
  readonly permissions: Permissions;
  readonly events: TurnEvents;
};

// Some agents report their title or commands some time after their turn.
const MOST_IDLE_BYTES = 1024 * 1024;
const KEPT_STDERR_BYTES = 8 * 1024;
// Some agents, such as codex-acp, do not end with their input.
const END_LIMIT_MS = 500;
// An agent's pipes close before its exit is known.
const EXIT_LIMIT_MS = 2000;

/** Connects with a started agent. */
export function connectAgent(child: AgentProcess): Connection {
  let turn: Peer | undefined;
  let idleBytes = 0;
  let isStopping = false;
  let stderr = createTail(KEPT_STDERR_BYTES);

  function countIdle(bytes: number): void {
    if (turn !== undefined || idleBytes > MOST_IDLE_BYTES) return;
    idleBytes += bytes;
    if (idleBytes <= MOST_IDLE_BYTES) return;
    // The session's next turn waits for its end.
    isStopping = true;
    child.stop("shutdown").catch(() => undefined);
  }

  child.stderr.on("data", (chunk: Buffer) => {
    countIdle(chunk.length);
    stderr.add(chunk);
    turn?.events.emit("output", chunk, "stderr");
  });
  let receive: ((params: unknown) => void) | undefined;
  const refused = new AbortController();
  const stream = createMessageStream({
    stdin: child.stdin,
    stdout: child.stdout,
    onUpdate: (params) => receive?.(params),
    onRefusal: (reason) => refused.abort(reason),
    onBytes: countIdle,
  });
  const connection = acp
    .client({ name: "budgie" })
    // Other requests, such as those for files and terminals of this machine, are refused as unknown.
    .onRequest(
      acp.methods.client.session.requestPermission,
      ({ params }) => turn?.permissions.answer(params) ?? CANCELLED,
    )
    .connect(stream);

  async function whenEnded(): Promise<EndedError> {
    await connection.closed;
    const exit = await settle(child);
    const said = Buffer.concat(stderr.chunks()).toString("utf8");
    // An agent that had to be stopped has budgie's exit, not its own.
    return exit === undefined ? new EndedError(NO_EXIT, `it closed its output. ${said}`) : new EndedError(exit, said);
  }

  return {
    async request(method, params, { answer, timeoutMs }) {
      const answered = connection.agent.request(method, params);
      const limited = timeoutMs === undefined ? answered : withLimit(answered, { method, timeoutMs });
      try {
        return parseAnswer(method, await limited, answer);
      } catch (error) {
        // A connection fails if its agent broke the protocol, or has ended.
        if (!connection.signal.aborted || error instanceof BudgieError) throw error;
        const { reason } = connection.signal as { reason: unknown };
        if (reason instanceof BudgieError) throw reason;
        throw await whenEnded();
      }
    },
    notify: (method, params) => void connection.agent.notify(method, params).catch(() => undefined),
    onUpdate(next) {
      receive = next;
    },
    begin(next) {
      turn = next;
      stderr = createTail(KEPT_STDERR_BYTES);
    },
    rest() {
      turn = undefined;
      idleBytes = 0;
      return NO_EXIT;
    },
    refused: refused.signal,
    isOpen: () => !isStopping && !connection.signal.aborted && child.stdin.writable,
    async end() {
      child.stdin.end();
      const isEnded = await endsWithin(child.exit, END_LIMIT_MS);
      if (!isEnded) await child.stop("shutdown");
      connection.close();
      return child.exit;
    },
    async stop(reason) {
      await child.stop(reason);
      connection.close();
      return child.exit;
    },
  };
}

const CANCELLED: acp.RequestPermissionResponse = { outcome: { outcome: "cancelled" } };

function parseAnswer<Schema extends z.ZodType>(method: string, value: unknown, schema: Schema): z.infer<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new BudgieError(
    "AGENT_FAILED",
    `The agent's program answered "${method}" with something that is not ACP (${issue?.path.join(".") || "it"}: ${issue?.message}). Try another version of it.`,
  );
}

/** The exit of an agent that has not ended, or whose end is unknown. */
export const NO_EXIT: Exit = { exitCode: undefined, signal: undefined, reason: undefined, oomKilled: false };

/** Resolves to the exit of an agent whose output has ended; to `undefined` if it had to be stopped. */
async function settle(child: AgentProcess): Promise<Exit | undefined> {
  if (await endsWithin(child.exit, EXIT_LIMIT_MS)) return child.exit;
  await child.stop("shutdown");
  return undefined;
}

async function withLimit<T>(
  work: Promise<T>,
  { method, timeoutMs }: { readonly method: string; readonly timeoutMs: number },
): Promise<T> {
  if (await endsWithin(work, timeoutMs)) return work;
  work.catch(() => undefined);
  throw new BudgieError("TIMED_OUT", `The agent did not answer "${method}" within ${Math.round(timeoutMs / 1000)} s.`);
}
