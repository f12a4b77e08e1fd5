import { describe, expect, it } from "vitest";
import { createBudgieUser } from "../../helpers/start-budgie.ts";

describe("tools/list", () => {
  it("describes an agent's result to a client", async () => {
    await using user = await createBudgieUser();
    const { client } = await user.serve();

    const { tools } = await client.listTools();

    expect(tools[0]?.outputSchema).toMatchInlineSnapshot(`
      {
        "properties": {
          "agent": {
            "type": "string",
          },
          "changedExecutablePaths": {
            "description": "Files changed during the turn that the user's machine runs by itself: have the user look before going on",
            "items": {
              "type": "string",
            },
            "type": "array",
          },
          "code": {
            "description": "What kind of error it was, if it failed",
            "type": "string",
          },
          "denied": {
            "description": "Tools that the agent wanted and was not allowed; the work may be incomplete",
            "items": {
              "type": "string",
            },
            "type": "array",
          },
          "directory": {
            "type": "string",
          },
          "disk": {
            "description": "Size of the session's home, and its growth in this turn; missing if it cannot be measured",
            "properties": {
              "grownBytes": {
                "type": "number",
              },
              "homeBytes": {
                "type": "number",
              },
            },
            "required": [
              "homeBytes",
              "grownBytes",
            ],
            "type": "object",
          },
          "durationMs": {
            "type": "number",
          },
          "egress": {
            "description": "The hosts that the agent asked for, and what its MCP servers may reach; missing if that was not recorded",
            "properties": {
              "allowed": {
                "description": "What it reached",
                "items": {
                  "properties": {
                    "count": {
                      "type": "number",
                    },
                    "host": {
                      "type": "string",
                    },
                    "port": {
                      "type": "number",
                    },
                  },
                  "required": [
                    "host",
                    "port",
                    "count",
                  ],
                  "type": "object",
                },
                "type": "array",
              },
              "denied": {
                "description": "What it was refused, by policy",
                "items": {
                  "properties": {
                    "count": {
                      "type": "number",
                    },
                    "host": {
                      "type": "string",
                    },
                    "port": {
                      "type": "number",
                    },
                    "why": {
                      "type": "string",
                    },
                  },
                  "required": [
                    "host",
                    "port",
                    "count",
                    "why",
                  ],
                  "type": "object",
                },
                "type": "array",
              },
            },
            "required": [
              "allowed",
              "denied",
            ],
            "type": "object",
          },
          "exit": {
            "description": "How the agent's process ended",
            "properties": {},
            "type": "object",
          },
          "isolation": {
            "description": ""container", "remote" if the agent runs elsewhere, or "none" if it ran unprotected",
            "type": "string",
          },
          "mcpServers": {
            "description": "The agent's MCP servers, and its calls of their tools; missing if it has none",
            "items": {
              "properties": {},
              "type": "object",
            },
            "type": "array",
          },
          "message": {
            "description": "What went wrong, if it failed",
            "type": "string",
          },
          "missed": {
            "description": "Earlier answers of this session that may not have reached you, the oldest first",
            "items": {
              "properties": {
                "response": {
                  "type": "string",
                },
                "runId": {
                  "type": "string",
                },
                "when": {
                  "type": "string",
                },
              },
              "required": [
                "runId",
                "response",
                "when",
              ],
              "type": "object",
            },
            "type": "array",
          },
          "response": {
            "description": "What the agent answered",
            "type": "string",
          },
          "retried": {
            "description": "Whether the first try timed out or crashed",
            "type": "boolean",
          },
          "runId": {
            "description": "What budgie's run log calls this answer: "budgie runs show" prints it again",
            "type": "string",
          },
          "sessionId": {
            "description": "Pass it to resume this conversation, which ends when nobody uses it for long, and usually with this server",
            "type": "string",
          },
          "status": {
            "description": ""done", or "running" while there is no answer yet",
            "type": "string",
          },
          "usage": {
            "description": "What it cost, as far as the agent's program said: credits or tokens",
            "properties": {},
            "type": "object",
          },
          "warnings": {
            "description": "What to know about this answer",
            "items": {
              "type": "string",
            },
            "type": "array",
          },
        },
        "type": "object",
      }
    `);
  });
});
