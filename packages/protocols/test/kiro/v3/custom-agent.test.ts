import { describe, expect, it } from "vitest";
import type { AgentDefinition } from "@budgie/core/agents";
import { toCustomAgent } from "../../../src/kiro/v3/custom-agent.ts";

const DEFINITION: AgentDefinition = { name: "reviewer", description: "sub-agent: Reviews." };
const toAgent = (fields: Partial<AgentDefinition>) => toCustomAgent({ ...DEFINITION, ...fields }, "You review.");
const allow = (capability: string) => ({ capability, effect: "allow" });

describe("toCustomAgent", () => {
  it("returns an agent of an id that depends on all of it, and on its name not", () => {
    const agent = toAgent({ tools: ["read"] });

    expect(agent.id).toMatch(/^budgie-[0-9a-f]{32}$/);
    expect(toAgent({ tools: ["read"], name: "other" }).id).toBe(agent.id);
    const others = [
      toAgent({ tools: ["shell"] }),
      toAgent({ tools: ["read"], description: "sub-agent: Other." }),
      toAgent({ tools: ["read"], model: "m" }),
      toAgent({ tools: ["read"], allowedTools: ["read"] }),
      toAgent({ tools: ["read"], resources: ["file://README.md"] }),
      toCustomAgent({ ...DEFINITION, tools: ["read"] }, "Other."),
    ];
    expect(new Set([agent, ...others].map(({ id }) => id)).size).toBe(7);
  });

  it("has its prompt as text, and its parts as they are", () => {
    const fields = {
      model: "claude-x",
      resources: ["file://README.md", { type: "knowledgeBase", source: "file://docs" }],
    };

    expect(toAgent(fields)).toMatchObject({ description: "sub-agent: Reviews.", prompt: "You review.", ...fields });
  });

  it.each<[readonly string[] | undefined, unknown]>([
    [undefined, "*"],
    [["*"], "*"],
    [["read", "*"], "*"],
    [[], []],
    [
      ["fs_read", "fs_write", "execute_bash", "read", "@git/status"],
      ["read", "write", "shell", "@git/status"],
    ],
  ])("turns the tools %j into %j", (tools, expected) => {
    expect(toAgent(tools === undefined ? {} : { tools: [...tools] }).tools).toEqual(expected);
  });

  it.each<[readonly string[], readonly unknown[]]>([
    [[], []],
    [["fs_read"], [allow("fs_read")]],
    [
      ["write", "shell"],
      [allow("fs_write"), allow("shell")],
    ],
    [["fs_*"], [allow("fs_read"), allow("fs_write")]],
    [["web"], [allow("web_fetch"), allow("web_search")]],
    [["web_search"], [allow("web_search")]],
    [["subagent"], [allow("subagent")]],
    [
      ["@builtin"],
      [allow("fs_read"), allow("fs_write"), allow("shell"), allow("web_fetch"), allow("web_search"), allow("subagent")],
    ],
    [["@mcp"], [allow("mcp")]],
    [["@git"], [{ ...allow("mcp"), match: ["git/*"] }]],
    [["@git/status"], [{ ...allow("mcp"), match: ["git/status"] }]],
    [["use_aws", "unknown", ""], []],
  ])("allows the tools %j by rules", (allowedTools, rules) => {
    expect(toAgent({ allowedTools: [...allowedTools] }).permissions).toEqual({ rules });
  });

  it("keeps the permissions of a file, and then allows nothing else", () => {
    const permissions: AgentDefinition["permissions"] = {
      rules: [
        { capability: "shell", match: ["git diff *"], effect: "allow" },
        { capability: "shell", effect: "deny" },
      ],
    };

    expect(toAgent({ permissions, allowedTools: ["fs_write"] }).permissions).toEqual(permissions);
  });
});
