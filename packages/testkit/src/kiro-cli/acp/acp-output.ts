import { randomUUID } from "node:crypto";
import type { Output } from "../output/output.ts";
import { toTitle } from "../output/text-output.ts";
import { toShortName, type ToolCall } from "../agent/tool-call.ts";
import type { Harness } from "../profile/settings.ts";
import { toRpcError, type Client, type Params } from "./json-rpc.ts";

export type AcpOutputOptions = {
  readonly client: Client;
  readonly sessionId: string;
  /** Stops all that the turn prints */
  readonly signal: AbortSignal;
  /** Adds a tool to those that need no permission */
  readonly trust: (tool: string) => void;
  readonly harness: Harness;
};

/** An output that knows how its turn ended. */
export type AcpOutput = Output & { readonly isFinished: () => boolean };

/** Creates the output of a turn over ACP: updates of the session, and requests for permission to use tools. */
export function createAcpOutput({ client, harness, sessionId, signal, trust }: AcpOutputOptions): AcpOutput {
  const started = performance.now();
  let toolCallId = "";
  let isFinished = false;

  async function update(fields: Params): Promise<void> {
    signal.throwIfAborted();
    await client.notify("session/update", { sessionId, update: fields });
  }

  async function announce(call: ToolCall): Promise<Params> {
    toolCallId = `tooluse_${randomUUID()}`;
    const kind = KINDS[toShortName(call.name)] ?? "other";
    const named = { toolCallId, title: toTitle(call), kind, rawInput: call.input };
    await update({ sessionUpdate: "tool_call", ...named, status: "pending" });
    return named;
  }

  function finishTool(status: "completed" | "failed", result: string): Promise<void> {
    const content = [{ type: "content", content: { type: "text", text: result } }];
    return update({ sessionUpdate: "tool_call_update", toolCallId, status, content });
  }

  function reportCredits(): Promise<void> {
    const kiro = { kind: "turn_completion", promptTurnSummaries: [{ unit: "credit", usage: 0.01 }] };
    return update({ sessionUpdate: "session_info_update", _meta: { kiro } });
  }

  return {
    format: "acp",
    async begin() {
      if (harness === "v2") await client.notify("_kiro.dev/metadata", { sessionId, contextUsagePercentage: 5.3 });
    },
    text: (text) => update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } }),
    async approve(call) {
      const toolCall = await announce(call);
      const chosen = toChosen(
        await client.ask("session/request_permission", { sessionId, toolCall, options: OPTIONS }),
      );
      if (chosen === "allow_always") trust(call.name);
      return chosen === "allow_always" || chosen === "allow_once";
    },
    async toolStarted(call, isApproved) {
      if (!isApproved) await announce(call);
      await update({ sessionUpdate: "tool_call_update", toolCallId, status: "in_progress" });
    },
    toolFinished: (_call, result) => finishTool("completed", result),
    toolFailed: (_call, reason) => finishTool("failed", reason),
    toolDenied: () => finishTool("failed", "Tool use was denied."),
    async fail(message) {
      if (harness === "v3" && /rate limit/.test(message)) {
        await client.notify("_kiro/error/rate_limit", { sessionId, message });
      }
      throw toRpcError(-32_603, "Internal error", message);
    },
    async finish() {
      isFinished = true;
      if (harness === "v3") return reportCredits();
      const turnDurationMs = Math.round(performance.now() - started);
      const meteringUsage = [{ value: 0.01, unit: "credit" }];
      signal.throwIfAborted();
      const facts = { contextUsagePercentage: 5.4, meteringUsage, turnDurationMs };
      await client.notify("_kiro.dev/metadata", { sessionId, ...facts });
    },
    isFinished: () => isFinished,
  };
}

const KINDS: Readonly<Record<string, string>> = { read: "read", write: "edit", shell: "execute" };

const OPTIONS = [
  { optionId: "allow_once", name: "Yes", kind: "allow_once" },
  { optionId: "allow_always", name: "Always", kind: "allow_always" },
  { optionId: "reject_once", name: "No", kind: "reject_once" },
] as const;

function toChosen(result: unknown): unknown {
  const { outcome } = result as { readonly outcome?: { readonly outcome?: string; readonly optionId?: string } };
  return outcome?.outcome === "selected" ? outcome.optionId : "reject_once";
}
