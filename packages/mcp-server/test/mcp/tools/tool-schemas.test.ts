import { describe, expect, it } from "vitest";
import { createBudgieUser } from "../../../../cli/test/helpers/start-budgie.ts";

describe("tools/list", () => {
  it("describes an agent's arguments to a client", async () => {
    await using user = await createBudgieUser();
    const { client } = await user.serve();

    const { tools } = await client.listTools();

    const { annotations, inputSchema, title } = tools[0] ?? {};
    expect({ annotations, inputSchema, title }).toMatchInlineSnapshot(`
      {
        "annotations": {
          "destructiveHint": true,
          "idempotentHint": false,
          "openWorldHint": true,
          "readOnlyHint": false,
        },
        "inputSchema": {
          "additionalProperties": false,
          "properties": {
            "budget": {
              "description": "The most that this call may use, such as "2 credits" or "1 USD", if that is less than configured.",
              "type": "string",
            },
            "directory": {
              "description": "Absolute path of the directory that the agent works in, or one below ~/. It must exist.",
              "type": "string",
            },
            "egress": {
              "description": ""none" cuts the agent off from every network, its own model included: for programs that need none. "allowlist" leaves it the hosts on its list. Leave it out for what is configured, which a call cannot exceed.",
              "enum": [
                "none",
                "allowlist",
                "open",
              ],
              "type": "string",
            },
            "prompt": {
              "description": "What the agent should do. It knows nothing of your conversation: say all it must know.",
              "type": "string",
            },
            "sessionId": {
              "description": "To resume a conversation: the sessionId of an earlier answer of this agent, for the same directory. Leave it out to begin a new one.",
              "type": "string",
            },
            "timeout": {
              "description": "How long the agent may take, such as "90s" or "5m", if that is less than configured.",
              "type": "string",
            },
            "workspace": {
              "description": ""copy" lets the agent work on a copy of the directory, which itself stays as it is; "ro" keeps it from changing anything. Leave it out for what is configured.",
              "enum": [
                "rw",
                "copy",
                "ro",
              ],
              "type": "string",
            },
          },
          "required": [
            "prompt",
            "directory",
          ],
          "type": "object",
        },
        "title": "code-reviewer",
      }
    `);
  });
});
