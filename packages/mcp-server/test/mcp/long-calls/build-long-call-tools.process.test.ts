import { describe, expect, it } from "vitest";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { callLong, SOON } from "./call-long.ts";
import { createBudgieUser, toText } from "../../../../cli/test/helpers/start-budgie.ts";

describe("the tools for long calls", () => {
  const own = ["kiro-subagents.cancel", "kiro-subagents.status", "kiro-subagents.wait"];

  it.each([
    ["claude-ai", [], own],
    ["test", [], []],
    ["test", ["--soft-deadline", "50s"], own],
    ["claude-ai", ["--soft-deadline", "never"], []],
  ])("exist for %j with %j: %j", async (clientName, args, expected) => {
    await using user = await createBudgieUser();
    const { client } = await user.serve({ clientName, args });

    const { tools } = await client.listTools();
    const wait = client.callTool({ name: "kiro-subagents.wait", arguments: { runId: "x" } });

    const names = tools.map(({ name }) => name);
    expect(names.filter((name) => own.includes(name))).toEqual(expected);
    expect(names).toEqual(names.toSorted());
    if (expected.length === 0) await expect(wait).rejects.toMatchObject({ code: -32602 });
    else await expect(wait).resolves.toMatchObject({ structuredContent: { code: "RUN_NOT_FOUND" } });
  });

  it.each([
    [
      ["--tool-names", "safe"],
      ["kiro_subagents_cancel", "kiro_subagents_status", "kiro_subagents_wait"],
    ],
    [
      ["--tools", "router"],
      ["cancel", "status", "wait"],
    ],
    [["--tools", "both"], own],
  ])("follow the spelling of the other names with %j, also in texts", async (args, expected) => {
    await using user = await createBudgieUser();
    const { client } = await user.serve({ args: [...args, "--soft-deadline", "1ms"] });

    const { tools } = await client.listTools();
    const names = tools.map(({ name }) => name);
    const agent = names.includes("invoke_agent") ? "invoke_agent" : "kiro_subagents_reader";
    const input = { prompt: "[[sleep 1000]]", directory: user.workspace };
    const call = { name: agent, arguments: agent === "invoke_agent" ? { ...input, agent: "reader" } : input };
    const result = (await client.callTool(call)) as CallToolResult;

    expect(names).toEqual(expect.arrayContaining(expected));
    expect(toText(result)).toContain(`call ${expected[2]} with runId "`);
  });

  it("say what to do about an unknown run, and refuse useless arguments", async () => {
    await using user = await createBudgieUser();
    const budgie = await user.serve({ args: SOON });
    const { use } = callLong(user, budgie);
    await budgie.client.listTools();

    const unknown = [
      await use("wait", { runId: "r" }),
      await use("status", { runId: "r" }),
      await use("cancel", { runId: "r" }),
    ];
    const wrong = [
      await use("wait", {}),
      await use("wait", { runId: "r", seconds: -1 }),
      await use("cancel", { run: "r" }),
    ];

    for (const result of unknown) {
      expect(result.isError).toBe(true);
      expect(toText(result)).toMatch(/^RUN_NOT_FOUND: You have no run "r" .*"budgie runs show r" prints it/);
    }
    expect(wrong.map(toText)).toEqual([
      expect.stringMatching(/^INPUT_INVALID: The argument "runId" is missing\./),
      'INPUT_INVALID: The argument "seconds" must be a number above 0.',
      expect.stringMatching(/^INPUT_INVALID: The argument "runId" is missing\..*The tool has no argument "run"/),
    ]);
  });

  it("change nothing except for cancel, and reach nothing outside", async () => {
    await using user = await createBudgieUser();
    const { client } = await user.serve({ args: SOON });

    const { tools } = await client.listTools();

    const annotations = own.map((name) => tools.find((tool) => tool.name === name)?.annotations);
    expect(annotations).toMatchObject([
      { readOnlyHint: false, destructiveHint: true, openWorldHint: false },
      { readOnlyHint: true, openWorldHint: false },
      { readOnlyHint: true, openWorldHint: false },
    ]);
  });
});
