import { describe, expect, it } from "vitest";
import { listV2AllowedTools, listV2Tools } from "../../../src/kiro/v2/list-v2-tools.ts";

type Effect = "allow" | "ask" | "deny";

function toPermissions(...rules: readonly (readonly [effect: Effect, capability: string, match?: string])[]) {
  const toRule = ([effect, capability, match]: (typeof rules)[number]) => ({
    effect,
    capability,
    ...(match === undefined ? {} : { match: [match] }),
  });
  return { rules: rules.map(toRule) };
}

describe("listV2Tools", () => {
  it("leaves the tools of a file without rules as they are", () => {
    expect(listV2Tools({ name: "a" })).toBeUndefined();
    expect(listV2Tools({ name: "a", tools: ["*", "fs_read", "@git/log"] })).toEqual(["*", "fs_read", "@git/log"]);
  });

  it("adds V2's names of tags that are V3's", () => {
    const definition = { name: "a", tools: ["web", "@mcp"], mcpServers: { git: {}, docs: {} } };

    expect(listV2Tools(definition)).toEqual(["web", "web_fetch", "web_search", "@mcp", "@git", "@docs"]);
  });

  it.each<readonly [string, readonly string[], readonly string[]]>([
    ["shell", ["read", "shell"], ["read"]],
    ["shell", ["fs_read", "execute_bash"], ["fs_read"]],
    ["filesystem", ["read", "write", "shell"], ["shell"]],
    ["mcp", ["read", "@mcp", "@git"], ["read"]],
    ["all", ["*", "use_aws"], []],
  ])("leaves out what a rule denies: %s of %j leaves %j", (capability, tools, left) => {
    const permissions = toPermissions(["allow", capability, "git *"], ["deny", capability]);

    expect(listV2Tools({ name: "a", permissions, tools: [...tools] })).toEqual(left);
  });

  it.each(["ask", "deny"] as const)("allows nothing without asking if a rule says %s about all", (effect) => {
    const permissions = toPermissions([effect, "all"]);

    expect(listV2AllowedTools({ name: "a", allowedTools: ["*", "use_aws"], permissions })).toEqual([]);
  });

  it.each([[["*"]], [["@builtin"]], [undefined]])("lists what is left of the tools %j", (tools) => {
    const left = listV2Tools({ name: "a", permissions: toPermissions(["deny", "shell"]), ...(tools && { tools }) });

    expect(left).toEqual(expect.arrayContaining(["read", "write", "web_fetch"]));
    for (const tool of ["*", "@builtin", "shell", "execute_bash"]) expect(left).not.toContain(tool);
  });

  it("keeps a tool of which rules deny only some uses, since it is not allowed without asking", () => {
    const permissions = toPermissions(["allow", "shell"], ["deny", "shell", "rm *"]);

    expect(listV2Tools({ name: "a", tools: ["shell"], permissions })).toEqual(["shell"]);
    expect(listV2AllowedTools({ name: "a", tools: ["shell"], permissions })).toEqual([]);
  });

  it.each<readonly [string, Readonly<Record<string, unknown>>]>([
    ["excludes", { excludedTools: ["shell", "@git/push"] }],
    ["excludes by its older name", { excludedTools: ["execute_bash", "@git"] }],
    ["excludes by patterns", { excludedTools: ["*_bash", "@gi*"] }],
    ["excludes by a single tool of V3", { excludedTools: ["control_bash_process", "@git/log"] }],
    ["disallows as in Claude Code", { disallowedTools: "Bash(rm *), mcp__git__push" }],
  ])("leaves out what a file %s", (_what, fields) => {
    const tools = ["read", "shell", "execute_bash", "@git", "@docs"];

    expect(listV2Tools({ name: "a", tools, ...fields })).toEqual(["read", "@docs"]);
    expect(listV2Tools({ name: "a", tools: ["*"], mcpServers: { git: {}, docs: {} }, ...fields })).toEqual(
      expect.arrayContaining(["read", "@docs"]),
    );
    expect(listV2Tools({ name: "a", tools: ["*"], mcpServers: { git: {} }, ...fields })).not.toContain("@git");
  });
});

describe("listV2AllowedTools", () => {
  it("leaves those of a file without rules as they are", () => {
    expect(listV2AllowedTools({ name: "a" })).toBeUndefined();
    expect(listV2AllowedTools({ name: "a", allowedTools: ["fs_*", "@git"] })).toEqual(["fs_*", "@git"]);
  });

  it.each<readonly [string, ReturnType<typeof toPermissions>, readonly string[]]>([
    ["what rules allow", toPermissions(["allow", "shell"]), ["shell", "execute_bash"]],
    ["all servers", toPermissions(["allow", "mcp"]), ["@git"]],
    ["nothing of which they allow only some uses", toPermissions(["allow", "shell", "git *"]), []],
    ["nothing that they ask for", toPermissions(["allow", "shell"], ["ask", "all"]), []],
  ])("allows %s", (_what, permissions, allowed) => {
    expect(listV2AllowedTools({ name: "a", permissions, mcpServers: { git: {} } })).toEqual(allowed);
  });

  it("takes from the listed tools what rules restrict", () => {
    const permissions = toPermissions(["ask", "fs_write"], ["deny", "shell", "rm *"]);

    expect(listV2AllowedTools({ name: "a", allowedTools: ["read", "write", "shell", "@git"], permissions })).toEqual([
      "read",
      "@git",
    ]);
    expect(listV2AllowedTools({ name: "a", allowedTools: ["*"], permissions })).not.toContain("write");
  });
});
