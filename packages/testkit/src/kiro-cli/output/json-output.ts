import { randomUUID } from "node:crypto";
import { write, type Output, type OutputOptions } from "./output.ts";
import { toExitError } from "../profile/exit-error.ts";
import { toTitle } from "./text-output.ts";
import { toShortName, type ToolCall } from "../agent/tool-call.ts";

/** Creates the output of `--output-format stream-json`: JSON Lines on stdout, prose on stderr. */
export function createJsonOutput({ sessionId }: OutputOptions): Output {
  const started = performance.now();
  let finalText = "";
  let toolCallId = "";

  function update(fields: Readonly<Record<string, unknown>>): Promise<void> {
    return writeEvent("sessionUpdate", { sessionId, update: fields });
  }

  async function announce(call: ToolCall): Promise<void> {
    toolCallId = `tooluse_${randomUUID()}`;
    const title = toTitle(call);
    const kind = KINDS[toShortName(call.name)] ?? "other";
    const named = { toolCallId, title, kind, _meta: { kiro: { toolName: toShortName(call.name) } } };
    await update({ sessionUpdate: "tool_call", ...named, status: "pending", rawInput: call.input });
  }

  function toolUpdate(call: ToolCall, status: "completed" | "failed", result: string): Promise<void> {
    return update({
      sessionUpdate: "tool_call_update",
      toolCallId,
      status,
      rawOutput: { items: [{ Text: result }] },
      content: [{ type: "content", content: { type: "text", text: result } }],
      _meta: { kiro: { toolName: toShortName(call.name) } },
    });
  }

  return {
    format: "stream-json",
    async begin() {
      await writeEvent("runStarted", { payloadSchema: "acp", acpProtocolVersion: 1, engine: "v2" });
      await writeEvent("metadata", { sessionId, contextUsagePercentage: 5.3 });
    },
    async text(text) {
      finalText += text;
      await update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
    },
    toolStarted: (call) => announce(call),
    toolFinished: (call, result) => toolUpdate(call, "completed", result),
    toolFailed: (call, reason) => toolUpdate(call, "failed", reason),
    async toolDenied(call) {
      await announce(call);
      await write(process.stderr, DENIED);
      await toolUpdate(call, "failed", "Tool use was denied.");
    },
    async fail(message) {
      await writeEvent("runError", { stage: "engine", message });
      throw toExitError(1, "");
    },
    async finish() {
      const turnDurationMs = Math.round(performance.now() - started);
      const meteringUsage = [{ value: 0.01, unit: "credit" }];
      await writeEvent("metadata", { sessionId, contextUsagePercentage: 5.4, meteringUsage, turnDurationMs });
      const ending = { status: "success", stopReason: "end_turn", finalText, finalTextTruncated: false };
      await writeEvent("runFinished", { sessionId, ...ending });
    },
  };
}

const KINDS: Readonly<Record<string, string>> = { read: "read", write: "edit", shell: "execute" };

const DENIED =
  "[denied] tool permission approval is not supported in non-interactive mode. " +
  "Use --trust-all-tools to auto-approve.\n";

/** Writes one line of stream-json. */
function writeEvent(type: string, data: Readonly<Record<string, unknown>>): Promise<void> {
  return write(process.stdout, `${JSON.stringify({ type, data })}\n`);
}
