import { randomUUID } from "node:crypto";
import type { Output } from "../output/output.ts";
import { toTitle } from "../output/to-title.ts";
import { toShortName, type ToolCall } from "../agent/tool-call.ts";
import type { Harness } from "../profile/settings.ts";
import { toRpcError, type Client, type Params } from "./serve-json-rpc.ts";

export type AcpOutputOptions = {
  readonly client: Client;
  readonly sessionId: string;
  /** Stops all that the turn prints */
  readonly signal: AbortSignal;
  readonly harness: Harness;
};

/** Creates the output of a turn over ACP: updates of the session, and requests for permission to use tools. */
export function createAcpOutput({ client, harness, sessionId, signal }: AcpOutputOptions): Output {
  let toolCallId = "";

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
    text: (text) => update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } }),
    async approve(call) {
      const toolCall = await announce(call);
      return isAllowed(await client.ask("session/request_permission", { sessionId, toolCall, options: OPTIONS }));
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
      if (harness === "v3") return reportCredits();
      signal.throwIfAborted();
      const meteringUsage = [{ value: 0.01, unit: "credit" }];
      await client.notify("_kiro.dev/metadata", { sessionId, contextUsagePercentage: 5.4, meteringUsage });
    },
  };
}

const KINDS: Readonly<Record<string, string>> = { read: "read", write: "edit", shell: "execute" };

const OPTIONS = [
  { optionId: "allow_once", name: "Yes", kind: "allow_once" },
  { optionId: "allow_always", name: "Always", kind: "allow_always" },
  { optionId: "reject_once", name: "No", kind: "reject_once" },
] as const;

function isAllowed(result: unknown): boolean {
  const { outcome } = result as { readonly outcome?: { readonly outcome?: string; readonly optionId?: string } };
  return outcome?.outcome === "selected" && outcome.optionId?.startsWith("allow") === true;
}
