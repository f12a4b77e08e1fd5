import { setTimeout as sleep } from "node:timers/promises";
import type { CallToolResult, Tool } from "@modelcontextprotocol/sdk/types.js";
import type { TurnHooks } from "@budgie/core/turn";
import type { ClientTools } from "../../../mcp-server/src/mcp/calls/client-tools.ts";

export type ConformanceToolsOptions = {
  /** Closes the connection of the running call, and lets the call continue */
  readonly hangUp: () => void;
};

type Answer = (hooks: TurnHooks) => CallToolResult | Promise<CallToolResult>;

/** Creates the tools that the conformance suite requires, except for those that need other features of a server. */
export function createConformanceTools({ hangUp }: ConformanceToolsOptions): ClientTools {
  const answers: Readonly<Record<string, Answer>> = {
    test_simple_text: () => ({ content: [text] }),
    test_image_content: () => ({ content: [image] }),
    test_audio_content: () => ({ content: [audio] }),
    test_embedded_resource: () => ({ content: [resource] }),
    test_multiple_content_types: () => ({ content: [text, image, resource] }),
    test_error_handling: () => ({ isError: true, content: [text] }),
    test_tool_with_progress: goThroughPhases,
    async test_reconnection() {
      hangUp();
      await sleep(100);
      return { content: [text] };
    },
    json_schema_2020_12_tool: () => ({ content: [text] }),
  };
  const definitions = Object.keys(answers).map((name): Tool => {
    const inputSchema = name === "json_schema_2020_12_tool" ? newerSchema : { type: "object" as const };
    return { name, description: "For the conformance suite", inputSchema };
  });
  return {
    definitions: () => definitions,
    call: (name, _input, hooks) => {
      const answer = answers[name];
      return answer && Promise.resolve(answer(hooks));
    },
    stop: () => undefined,
    close: async () => undefined,
  };
}

const data = Buffer.from("not looked into").toString("base64");
const text = { type: "text", text: "A text" } as const;
const image = { type: "image", data, mimeType: "image/png" } as const;
const audio = { type: "audio", data, mimeType: "audio/wav" } as const;
const resource = {
  type: "resource",
  resource: { uri: "test://resource", mimeType: "text/plain", text: "A resource" },
} as const;

const newerSchema: Tool["inputSchema"] = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  $defs: {
    address: { type: "object", properties: { street: { type: "string" }, city: { type: "string" } } },
  },
  properties: { name: { type: "string" }, address: { $ref: "#/$defs/address" } },
  additionalProperties: false,
};

async function goThroughPhases({ events }: TurnHooks): Promise<CallToolResult> {
  const turn = {
    agent: "conformance",
    runId: "00000000-0000-4000-8000-000000000000",
    sessionId: undefined,
    sinceMs: 0,
  };
  events?.emit("phase", { ...turn, phase: "waiting", position: 1 });
  await sleep(50);
  events?.emit("phase", { ...turn, phase: "starting" });
  await sleep(50);
  events?.emit("phase", { ...turn, phase: "running", attempt: 1 });
  return { content: [text] };
}
