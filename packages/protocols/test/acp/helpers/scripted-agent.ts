import { PassThrough } from "node:stream";
import { createInterface } from "node:readline";
import {
  BudgieError,
  createSessionId,
  type AgentProcess,
  type Exit,
  type RunnerSession,
  type StopReason,
} from "@budgie/core";

/** The agent's side of its connection, as raw messages. */
type AgentSide = {
  readonly send: (message: unknown) => void;
  /** Writes bytes as they are. Returns false if more would only be buffered */
  readonly print: (text: string) => boolean;
  /** Stops reading what the client sends */
  readonly stopReading: () => void;
  /** Closes stdout, but does not end */
  readonly closeOutput: () => void;
  readonly update: (update: Readonly<Record<string, unknown>>, sessionId?: string) => void;
  readonly say: (text: string, messageId?: string) => void;
  /** Sends a request to the client. Resolves to the whole answer */
  readonly ask: (method: string, params: unknown) => Promise<Readonly<Record<string, unknown>>>;
  /** Ends the process. */
  readonly exit: (exit: Partial<Exit>, stderr?: string) => void;
  /** Resolves when the client sends this notification. */
  readonly notified: (method: string) => Promise<unknown>;
};

/** Answers a request with a result, or an error by throwing `{ code, message, data }`. */
type Handler = (params: never, agent: AgentSide) => unknown;

export type Script = Readonly<Record<string, Handler>>;

export type ScriptedAgent = {
  readonly session: RunnerSession;
  /** The requests and notifications that the agent got, over all its processes */
  readonly received: readonly { readonly method: string; readonly params: unknown }[];
  readonly stops: readonly StopReason[];
  readonly files: Map<string, string>;
  /** The started processes, in order */
  readonly processes: readonly ScriptedProcess[];
};

type ScriptedProcess = { readonly agent: AgentSide; readonly hasEnded: () => boolean };

/** A new conversation `c1`, and an answer to each prompt. */
export const POLITE: Script = {
  initialize: () => ({ protocolVersion: 1, agentCapabilities: { loadSession: true }, authMethods: [] }),
  "session/new": () => ({ sessionId: "c1" }),
  "session/load": () => null,
  "session/prompt": (_params, agent) => {
    agent.say("Hello.");
    return { stopReason: "end_turn" };
  },
};

export type AgentOptions = {
  readonly endsWithInput?: boolean;
  /** Returns what a runner adds to each process */
  readonly facts?: () => Partial<AgentProcess>;
};

/** Creates a session whose program is a script. */
export function createScriptedAgent(
  script: Script,
  { endsWithInput = true, facts = () => ({}) }: AgentOptions = {},
): ScriptedAgent {
  const received: { method: string; params: unknown }[] = [];
  const stops: StopReason[] = [];
  const files = new Map<string, string>();
  const processes: ScriptedProcess[] = [];
  const session: RunnerSession = {
    id: createSessionId(),
    paths: () => ({ workspace: "/workspace", home: "/home/agent" }),
    async start(_command, { signal }) {
      if (signal?.aborted === true) throw new BudgieError("CANCELLED", "The turn was cancelled before its start.");
      return { ...startProcess({ script, received, stops, endsWithInput, signal, processes }), ...facts() };
    },
    readFile: async (name) => files.get(name),
    appendFile: async (name, text) => void files.set(name, (files.get(name) ?? "") + text),
    remove: async () => files.clear(),
  };
  return { session, received, stops, files, processes };
}

type Process = Pick<ScriptedAgent, "stops"> & {
  readonly script: Script;
  readonly received: { method: string; params: unknown }[];
  readonly stops: StopReason[];
  readonly endsWithInput: boolean;
  readonly signal: AbortSignal | undefined;
  readonly processes: ScriptedProcess[];
};

function startProcess({ endsWithInput, processes, received, script, signal, stops }: Process): AgentProcess {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const answers = new Map<unknown, (message: Readonly<Record<string, unknown>>) => void>();
  const waiting = new Map<string, (params: unknown) => void>();
  let end: (exit: Exit) => void = () => undefined;
  const exited = new Promise<Exit>((resolve) => (end = resolve));
  let id = 1000;

  const agent: AgentSide = {
    send: (message) => void agent.print(`${JSON.stringify({ jsonrpc: "2.0", ...(message as object) })}\n`),
    print: (text) => !stdout.writableEnded && stdout.write(text),
    stopReading: () => lines.pause(),
    closeOutput: () => void stdout.end(),
    update: (update, sessionId = "c1") => agent.send({ method: "session/update", params: { sessionId, update } }),
    say: (text, messageId) =>
      agent.update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text }, messageId }),
    ask(method, params) {
      const asked = id++;
      agent.send({ id: asked, method, params });
      return new Promise((resolve) => answers.set(asked, resolve));
    },
    exit(exit, said = "") {
      if (stderr.writableEnded) return;
      stderr.end(said);
      stdout.end();
      end({ exitCode: undefined, signal: undefined, reason: undefined, oomKilled: false, ...exit });
    },
    notified: (method) => new Promise((resolve) => waiting.set(method, resolve)),
  };

  processes.push({ agent, hasEnded: () => stderr.writableEnded });

  async function take(line: string): Promise<void> {
    const message = JSON.parse(line) as { id?: number; method?: string; params: unknown };
    if (message.method === undefined) return answers.get(message.id)?.(message as never);
    received.push({ method: message.method, params: message.params });
    if (message.id === undefined) return waiting.get(message.method)?.(message.params);
    try {
      const handler = script[message.method];
      if (handler === undefined) throw { code: -32601, message: "Method not found" };
      agent.send({ id: message.id, result: await handler(message.params as never, agent) });
    } catch (error) {
      agent.send({ id: message.id, error });
    }
  }

  const lines = createInterface({ input: stdin });
  lines.on("line", (line) => void take(line));
  lines.on("close", () => endsWithInput && agent.exit({ exitCode: 0 }));
  const stop = async (reason: StopReason): Promise<void> => {
    stops.push(reason);
    agent.exit({ signal: "SIGTERM", reason });
  };
  signal?.addEventListener("abort", () => void stop("cancelled"));
  return { stdin, stdout, stderr, exit: exited, stop };
}
