import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import {
  parseTimeout,
  toDurationText,
  type Agent,
  type HealthReport,
  type RunTurn,
  type TurnHooks,
} from "@budgie/core";
import { agentInput, healthInput, parseToolInput } from "./tool-input.ts";
import { orErrorResult, toHealthResult, toReplyResult } from "./tool-result.ts";
import type { Tool } from "./tools.ts";

/** The tools of one client, and what happens when it calls one. */
export type Toolbox = {
  readonly definitions: () => readonly Tool["definition"][];
  /** `undefined` if there is no such tool */
  readonly call: (name: string, input: unknown, hooks: TurnHooks) => Promise<CallToolResult> | undefined;
  /** Ends what the client owns, once its calls are over */
  readonly close: () => Promise<void>;
};

export type ToolboxOptions = {
  /** Those of the moment */
  readonly tools: () => readonly Tool[];
  readonly runTurn: RunTurn;
  readonly health: () => Promise<HealthReport>;
  /** Comes before each call */
  readonly onCall: () => void;
  /** Told about each turn */
  readonly report: ((line: string) => void) | undefined;
};

/** Creates the toolbox of a client. */
export function createToolbox({ health, onCall, report, runTurn, tools }: ToolboxOptions): Toolbox {
  async function callAgent({ name: agent }: Agent, input: unknown, hooks: TurnHooks): Promise<CallToolResult> {
    return toReplyResult(await runTurn({ agent, ...parseAgentInput(input) }, hooks));
  }

  async function callHealth(input: unknown): Promise<CallToolResult> {
    parseToolInput(healthInput, input);
    return toHealthResult(await health());
  }

  return {
    definitions: () => tools().map(({ definition }) => definition),
    call(name, input, hooks) {
      const tool = tools().find(({ definition }) => definition.name === name);
      if (tool === undefined) return undefined;
      onCall();
      const { purpose } = tool;
      if (purpose.kind === "health-check") return orErrorResult(callHealth(input));
      report?.(`${purpose.agent.name}: called`);
      const began = performance.now();
      return orErrorResult(callAgent(purpose.agent, input, hooks)).then((result) => {
        report?.(`${name}: ${toOutcome(result)} after ${toDurationText(performance.now() - began)}`);
        return result;
      });
    },
    close: async () => undefined,
  };
}

/** An empty text means none, as it always has for the session id: models fill in what they could leave out. */
function parseAgentInput(input: unknown) {
  const { egress, sessionId, timeout, workspace, ...rest } = parseToolInput(agentInput, input);
  const timeoutMs = timeout ? parseTimeout(timeout, 'the argument "timeout"', "INPUT_INVALID") : undefined;
  return { ...rest, sessionId: sessionId || undefined, tightening: { workspace, egress, timeoutMs } };
}

function toOutcome({ isError, structuredContent: facts = {} }: CallToolResult): string {
  if (isError === true) return `failed with ${String(facts["code"])}`;
  return `answered in session ${String(facts["sessionId"])}`;
}
