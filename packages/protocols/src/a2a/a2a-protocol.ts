import { BudgieError, formatOption, type Agent } from "@budgie/core";
import type { Protocol, ProtocolTurn } from "@budgie/core/protocol";
import { formatDuration } from "@budgie/core/text";
import type { A2aServer } from "./wire/a2a-server.ts";
import { createAnswer, type Answer } from "./turn/answer.ts";
import { loadCard } from "./wire/load-card.ts";
import { createClient, type Client } from "./wire/client.ts";
import { createMask } from "./http/mask.ts";
import { loadContext, saveContext, type Context } from "./turn/context.ts";
import { exchange } from "./turn/exchange.ts";
import { judgeAnswer } from "./turn/judge-answer.ts";
import { toUpdate, wireOf } from "./wire/wire.ts";

export type A2aOptions = {
  /** Returns the server of an agent */
  readonly toServer: (agent: Agent) => A2aServer;
  /** The timeout of the request for an agent's card, which precedes the prompt; default 30 s */
  readonly startTimeoutMs?: number | undefined;
  /** The time that a server gets to cancel a task; default 5 s */
  readonly cancelTimeoutMs?: number | undefined;
  /** The time for which a server may be unreachable while its task runs; default 30 s */
  readonly lostTimeoutMs?: number | undefined;
};

const START_TIMEOUT_MS = 30_000;
const CANCEL_TIMEOUT_MS = 5000;
const LOST_TIMEOUT_MS = 30_000;
// A shorter header value may be an ordinary word, such as a tenant's name, which an answer must keep.
const SHORTEST_IN_ANSWERS = 16;
// Node fires longer timers at once.
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Creates the protocol of agents served over A2A. It sends only the prompt, in the session's conversation. */
export function createA2aProtocol(options: A2aOptions): Protocol {
  return async (turn) => {
    const server = options.toServer(turn.agent);
    const late = AbortSignal.timeout(Math.min(Math.max(turn.timeoutMs, 0), LONGEST_TIMER_MS));
    const ending = AbortSignal.any([late, ...(turn.signal === undefined ? [] : [turn.signal])]);
    const connection = new AbortController();
    const parts = { turn, server, signal: connection.signal, options, ending };
    const begun: Begun = {
      client: undefined,
      task: undefined,
      answer: createAnswer({ events: turn.events, mask: createMask(server.headers, SHORTEST_IN_ANSWERS) }),
    };
    const work = run(parts, begun);
    work.catch(() => undefined);
    try {
      if (!(await endsBefore(work, ending))) throw endedError(turn, late, await cancel(begun, options));
      return await work.catch(async (error: unknown) => {
        throw await abandon(error, begun, options);
      });
    } finally {
      connection.abort();
    }
  };
}

type Call = {
  readonly turn: ProtocolTurn;
  readonly server: A2aServer;
  readonly options: A2aOptions;
  /** Aborts the open requests */
  readonly signal: AbortSignal;
  /** Aborts when the turn must end; the task is then cancelled before the connection closes */
  readonly ending: AbortSignal;
};

type Begun = {
  /** `undefined` until the card was read */
  client: Client | undefined;
  /** The task that the prompt continues */
  task: string | undefined;
  readonly answer: Answer;
};

async function run({ ending, options, server, signal, turn }: Call, begun: Begun) {
  const { resume, session } = turn;
  const { answer } = begun;
  const who = formatName(turn);
  const saved = resume ? await loadContext(session) : undefined;
  const limit = AbortSignal.timeout(options.startTimeoutMs ?? START_TIMEOUT_MS);
  const card = await loadCard(server, { who, signal: AbortSignal.any([signal, limit]) });
  // The caller may have been told that the turn was cancelled, so nothing may begin.
  ending.throwIfAborted();
  const client = createClient({ server, wire: wireOf(card.version), who });
  [begun.client, begun.task] = [client, saved?.task];
  const onUpdate = createKeeper(turn, answer, saved);
  const message = buildMessage(turn, server, saved);
  const { lostTimeoutMs = LOST_TIMEOUT_MS } = options;
  const { isStreaming } = card;
  await exchange({ who, client, isStreaming, message, answer, onUpdate, signal, lostTimeoutMs }).catch(
    async (error: unknown) => {
      await forgetTask(turn, answer, saved);
      throw error;
    },
  );
  const isForgotten = resume && saved?.context !== (answer.context() ?? saved?.context);
  return judgeAnswer(answer, { who, warnings: isForgotten ? [FORGOTTEN] : [], mask: createMask(server.headers) });
}

/** Forgets a saved task that the server did not continue, since every later turn would name it again. */
async function forgetTask({ session }: ProtocolTurn, answer: Answer, saved: Context | undefined): Promise<void> {
  if (saved?.task === undefined || answer.task() !== undefined) return;
  await saveContext(session, { context: saved.context });
}

function buildMessage({ prompt, session }: ProtocolTurn, { namesContext }: A2aServer, saved: Context | undefined) {
  const context = saved?.context ?? (namesContext === true ? session.id : undefined);
  // NUL means nothing to a model.
  return { prompt: prompt.replaceAll("\0", ""), context, task: saved?.task };
}

const FORGOTTEN = "The server began a new conversation: it knows nothing of the earlier turns of this session.";

/** Creates a function that saves the conversation's id once it is known, and the task's id while the task waits for the caller. */
function createKeeper({ session }: ProtocolTurn, answer: Answer, saved: Context | undefined): () => Promise<void> {
  let kept = saved;
  return async () => {
    const context = answer.context() ?? kept?.context;
    if (context === undefined) return;
    const isWaiting = ["auth-required", "input-required"].includes(answer.state() ?? "");
    const task = isWaiting ? answer.task() : undefined;
    if (kept?.context === context && kept.task === task) return;
    kept = { context, task };
    await saveContext(session, kept);
  };
}

/** Resolves to false if the signal aborts before the work has settled. */
async function endsBefore(work: Promise<unknown>, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return false;
  const over = new AbortController();
  const aborted = new Promise<boolean>((resolve) => {
    signal.addEventListener("abort", () => resolve(false), { once: true, signal: over.signal });
  });
  const settled = work.then(
    () => true,
    () => true,
  );
  return Promise.race([settled, aborted]).finally(() => over.abort());
}

/** Asks the server to cancel the task. Resolves to true if the agent has certainly stopped, or never began. */
async function cancel({ answer, client, task }: Begun, { cancelTimeoutMs = CANCEL_TIMEOUT_MS }: A2aOptions) {
  if (client === undefined || answer.isOver()) return true;
  const id = answer.task() ?? task;
  if (id === undefined) return false;
  const limit = AbortSignal.timeout(cancelTimeoutMs);
  const reply = await client.askOnce(client.wire.methods.cancel, { id }, limit).catch(() => undefined);
  if (reply === undefined || "error" in reply) return false;
  return ["canceled", "completed", "failed", "rejected"].includes(toUpdate(reply.result).state ?? "");
}

/** Cancels the task of a failed turn if it still runs, and returns the error, which then says so. */
async function abandon(error: unknown, begun: Begun, options: A2aOptions): Promise<unknown> {
  const { answer } = begun;
  if (!(error instanceof BudgieError) || answer.task() === undefined || answer.isOver()) return error;
  const isStopped = await cancel(begun, options);
  const state = isStopped
    ? "Its task is cancelled."
    : "Its server did not confirm a cancellation; the task may go on there.";
  return new BudgieError(error.code, `${error.message} ${state}`, { cause: error, report: error.report });
}

function endedError(turn: ProtocolTurn, late: AbortSignal, isStopped: boolean): BudgieError {
  const who = formatName(turn);
  const state = isStopped ? "Its task is cancelled." : "Its server did not confirm that; the task may go on there.";
  if (turn.signal?.aborted !== true && late.aborted) {
    const limit = formatDuration(turn.timeoutMs);
    const remedy = `Give it a smaller task, or more time with ${formatOption("timeoutMs")}.`;
    return new BudgieError("TIMED_OUT", `${capitalize(who)} did not finish within ${limit}. ${state} ${remedy}`);
  }
  return new BudgieError("CANCELLED", `The turn of ${who} was cancelled. ${state}`);
}

function formatName({ agent }: Pick<ProtocolTurn, "agent">): string {
  return `the agent "${agent.name}"`;
}

function capitalize(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
