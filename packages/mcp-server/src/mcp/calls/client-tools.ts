import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import type { RunTurn } from "@budgie/core";
import type { HealthReport } from "@budgie/core/runs";
import { formatDuration, escapeForTerminal } from "@budgie/core/text";
import type { TurnHooks } from "@budgie/core/turn";
import { toAgentsResult } from "./to-agents-result.ts";
import { findTool } from "../names/find-tool.ts";
import { agentInput, invokeInput, noInput, parseToolInput, type ParallelInput } from "../tools/parse-tool-input.ts";
import { toErrorResult, toHealthResult, toReplyResult } from "./to-reply-result.ts";
import type { Tool } from "../tools/tool.ts";
import { toTurnRequest } from "./to-turn-request.ts";

/** A form with one text to type. */
type Question = {
  readonly message: string;
  /** The name of the text */
  readonly label: string;
};

/** Resolves to what the client's person typed, untrusted; `undefined` if that is nothing. Throws `CANCELLED` once the call is cancelled. */
export type AskPerson = (question: Question) => Promise<string | undefined>;

/** Hooks of one tool call. */
export type CallHooks = TurnHooks & {
  /** Sets what to do if the client cancels the call before it receives the result */
  readonly ifDropped?: (then: () => void) => void;
  /** Asks the person at the client; left out if the client shows no forms */
  readonly ask?: AskPerson | undefined;
};

/** A call that may be answered before its turn has ended. */
export type StartedCall = {
  /** The hooks of its turn */
  readonly hooks: Pick<TurnHooks, "events" | "runId">;
  /** Resolves to the result, or earlier to one that says that the turn continues. */
  readonly answer: (result: Promise<CallToolResult>) => Promise<CallToolResult>;
};

/** The tools of one client. */
export type ClientTools = {
  readonly definitions: () => readonly Tool["definition"][];
  /** Returns `undefined` if there is no such tool. */
  readonly call: (name: string, input: unknown, hooks: CallHooks) => Promise<CallToolResult> | undefined;
  /** Stops runs that outlive their calls, without waiting for them. */
  readonly stop: () => void;
  /** Ends what the client owns. Its calls must have ended. */
  readonly close: () => Promise<void>;
};

/** The parts of a client's tools that run agents. */
export type ParallelCall = {
  readonly runTurn: RunTurn;
  /** Returns the name of an agent that a call may name by its tool */
  readonly nameOf: (agent: string) => string;
  /** The session id that begins a new session; `undefined` if leaving it out does */
  readonly newSession: string | undefined;
};

export type ClientToolsOptions = {
  /** Returns the current tools. */
  readonly tools: () => readonly Tool[];
  readonly runTurn: RunTurn;
  /** Begins a call; `undefined`, as by default, for one that is answered when its turn has ended */
  readonly begin?: (tool: string, hooks: CallHooks) => StartedCall | undefined;
  readonly health: () => Promise<HealthReport>;
  /** Called before each tool call */
  readonly onCall: () => void;
  /** Called with a line at the beginning and the end of each turn */
  readonly report: ((line: string) => void) | undefined;
  /** Runs the agents of a call of `invoke_parallel` */
  readonly runParallel: (input: ParallelInput, call: ParallelCall, hooks: TurnHooks) => Promise<CallToolResult>;
  /** Ends what the client owns; by default it ends with the program */
  readonly endSessions?: () => Promise<void>;
};

/** Creates the tools of a client. */
export function createClientTools({
  begin = () => undefined,
  health,
  endSessions,
  onCall,
  report,
  runParallel,
  runTurn,
  tools,
}: ClientToolsOptions): ClientTools {
  async function answer({ purpose }: Tool, input: unknown, hooks: TurnHooks): Promise<CallToolResult> {
    switch (purpose.kind) {
      case "agent":
        return toReplyResult(
          await runTurn(toTurnRequest(purpose.agent.name, parseToolInput(agentInput, input)), hooks),
        );
      case "invoke-agent": {
        const { agent, ...rest } = parseToolInput(invokeInput, input);
        return toReplyResult(await runTurn(toTurnRequest(agent, rest), hooks));
      }
      case "invoke-parallel": {
        const { input: schema, newSession } = purpose;
        const call = { runTurn, newSession, nameOf: (name: string) => findAgent(tools(), name) };
        return runParallel(parseToolInput(schema, input), call, hooks);
      }
      case "list-agents":
        parseToolInput(noInput, input);
        return toAgentsResult(purpose.agents);
      case "health-check":
        parseToolInput(noInput, input);
        return toHealthResult(await health());
    }
  }

  return {
    definitions: () => tools().map(({ definition }) => definition),
    call(name, input, hooks) {
      const tool = findTool(tools(), name);
      if (tool === undefined) return undefined;
      onCall();
      const agent = findAgentName(tool, input);
      const log = (what: string): void =>
        void (agent !== undefined && report?.(`${escapeForTerminal(agent)}: ${what}`));
      log("called");
      const began = performance.now();
      const call = begin(name, hooks);
      const answered = answer(tool, input, { ...hooks, ...call?.hooks }).catch(toErrorResult);
      const logged = answered.then((result) => {
        log(`${formatOutcome(result)} after ${formatDuration(performance.now() - began)}`);
        return result;
      });
      return call === undefined ? logged : call.answer(logged);
    },
    stop: () => undefined,
    close: async () => endSessions?.(),
  };
}

/** Returns the name of the agent that a tool of this name runs; the name itself if there is none. */
function findAgent(tools: readonly Tool[], name: string): string {
  if (tools.some(({ purpose }) => purpose.kind === "agent" && purpose.agent.name === name)) return name;
  const purpose = findTool(tools, name)?.purpose;
  return purpose?.kind === "agent" ? purpose.agent.name : name;
}

/** Returns the name of the called agent, whether it exists or not; `undefined` for tools that run none. */
function findAgentName({ purpose }: Tool, input: unknown): string | undefined {
  switch (purpose.kind) {
    case "agent":
      return purpose.agent.name;
    case "invoke-agent":
      return String((input as { readonly agent?: unknown } | undefined)?.agent);
    case "invoke-parallel":
      return "invoke_parallel";
    case "list-agents":
    case "health-check":
      return undefined;
  }
}

function formatOutcome({ isError, structuredContent: facts = {} }: CallToolResult): string {
  if (isError === true) return `failed with ${String(facts["code"])}`;
  const { results } = facts;
  if (Array.isArray(results)) return `answered for ${results.length} agents`;
  return `answered in session ${String(facts["sessionId"])}`;
}
