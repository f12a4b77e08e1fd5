import { describe, expect, it } from "vitest";
import { createBudgieUser } from "./helpers/start-budgie.ts";

describe("tools/list", () => {
  it("tells a client how to call an agent, and what comes back", async () => {
    await using user = await createBudgieUser();
    const { client } = await user.start();

    const { tools } = await client.listTools();

    const { annotations, inputSchema, outputSchema, title } = tools[0] ?? {};
    expect({ annotations, inputSchema, outputSchema, title }).toMatchInlineSnapshot(`
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
            "directory": {
              "description": "Absolute path of the directory that the agent works in. It must exist.",
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
              "description": "To go on with a conversation: the sessionId of an earlier answer of this tool, for the same directory. Leave it out to begin a new one.",
              "type": "string",
            },
            "timeout": {
              "description": "How long the agent may take, such as "90s" or "5m", if that is less than configured.",
              "type": "string",
            },
            "workspace": {
              "description": ""ro" keeps the agent from changing anything in the directory. Leave it out for what is configured.",
              "enum": [
                "rw",
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
        "outputSchema": {
          "additionalProperties": {},
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
            "denied": {
              "description": "Tools that the agent wanted and was not allowed; the work may be incomplete",
              "items": {
                "type": "string",
              },
              "type": "array",
            },
            "durationMs": {
              "type": "number",
            },
            "egress": {
              "additionalProperties": {},
              "description": "What the agent asked for of the network; missing if nobody watched",
              "properties": {
                "allowed": {
                  "description": "What it reached",
                  "items": {
                    "additionalProperties": {},
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
                    "additionalProperties": {},
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
              "additionalProperties": {},
              "description": "How the agent's process ended",
              "properties": {},
              "type": "object",
            },
            "isolation": {
              "description": ""container", or "none" if the agent ran unprotected",
              "type": "string",
            },
            "missed": {
              "description": "Earlier answers of this session that may not have reached you, the oldest first",
              "items": {
                "additionalProperties": {},
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
              "description": "Pass it to go on with this conversation; it lasts as long as this server",
              "type": "string",
            },
            "usage": {
              "additionalProperties": {},
              "description": "What it cost, as far as the agent's program said",
              "properties": {
                "credits": {
                  "type": "number",
                },
              },
              "required": [
                "credits",
              ],
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
          "required": [
            "response",
            "runId",
            "sessionId",
            "agent",
            "isolation",
            "durationMs",
            "exit",
            "retried",
            "denied",
            "changedExecutablePaths",
            "missed",
            "warnings",
          ],
          "type": "object",
        },
        "title": "code-reviewer",
      }
    `);
  });
});
