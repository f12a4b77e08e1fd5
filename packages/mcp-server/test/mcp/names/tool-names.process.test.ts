import { describe, expect, it } from "vitest";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createBudgieUser, toText } from "../../../../cli/test/helpers/start-budgie.ts";

const SAFE = ["--tool-names", "safe"];

describe("--tool-names", () => {
  it.each([
    [[], "kiro_subagents_code_reviewer"],
    [SAFE, "kiro-subagents.code-reviewer"],
  ])("%j also accepts calls in the other spelling, %s, which is not in the list", async (args, name) => {
    await using user = await createBudgieUser();
    const { client } = await user.serve({ args });

    const { tools } = await client.listTools();
    const result = await client.callTool({ name, arguments: { prompt: "Hello", directory: user.workspace } });

    expect(tools.map((tool) => tool.name)).not.toContain(name);
    expect(result).toMatchObject({ structuredContent: { agent: "code-reviewer", response: "You asked: Hello" } });
  });

  it("safe produces names that every client accepts", async () => {
    await using user = await createBudgieUser();
    writeFileSync(
      join(user.host.agentsDir, "long.json"),
      JSON.stringify({ name: `Größe ${"x".repeat(80)}`, description: "sub-agent: Long" }),
    );
    const { client, stderr } = await user.serve({ args: SAFE });

    const { tools } = await client.listTools();

    expect(tools).toHaveLength(5);
    for (const { name } of tools) expect(name).toMatch(/^[a-z][a-z0-9_]{0,63}$/);
    expect(stderr()).toMatch(
      /budgie: The tool "kiro_subagents_gr__e_x+_[0-9a-f]{8}" is short for "kiro-subagents\.gr--e-x+"/,
    );
  });

  it("leaves out an agent that a client would confuse with another, and names both and the client", async () => {
    await using user = await createBudgieUser();
    const twin = join(user.host.agentsDir, "twin.json");
    writeFileSync(twin, JSON.stringify({ name: "codereviewer", description: "sub-agent: Twin" }));

    const { exitCode, stderr } = await user.command(["list-tools"]);

    expect(exitCode).toBe(0);
    expect(stderr).toContain(
      `budgie: The agents "code-reviewer" (${join(user.host.agentsDir, "code-reviewer.json")}) and "codereviewer" ` +
        `(${twin}) would be the tools "kiro-subagents.code-reviewer" and "kiro-subagents.codereviewer", and Kiro, `,
    );
  });
});

describe("--tools router", () => {
  const ROUTER = ["--tools", "router"];

  it("offers two tools, and explains them in the instructions", async () => {
    await using user = await createBudgieUser();
    const { client } = await user.serve({ args: ROUTER });

    const { tools } = await client.listTools();

    expect(tools.map(({ name }) => name)).toEqual(["invoke_agent", "list_agents"]);
    expect(client.getInstructions()).toMatch(/^list_agents names the agents, and invoke_agent runs one of them\. /);
  });

  it("lists the agents, with when to use them", async () => {
    await using user = await createBudgieUser();
    const frontmatter = "---\ndescription: Reads\ncapabilities: Reading\nuse_when: Always\navoid_when: Never\n---\n";
    writeFileSync(join(user.host.promptsDir, "reader.md"), frontmatter);
    const { client } = await user.serve({ args: ROUTER });
    await client.listTools();

    const { structuredContent, ...result } = await client.callTool({ name: "list_agents" });

    const { agents } = structuredContent as { agents: readonly { name: string }[] };
    expect(agents.map(({ name }) => name)).toEqual(["code-reviewer", "reader", "shell-worker"]);
    expect(agents[1]).toEqual({
      name: "reader",
      description: "Reads\n\nCapabilities:\n- Reading",
      whenToUse: "Use when:\n- Always\n\nAvoid when:\n- Never",
    });
    expect(toText({ content: [], ...result })).toContain(
      "\nreader\n  Reads\n\n  Capabilities:\n  - Reading\n\n  Use when:\n",
    );
  });

  it("runs an agent, and resumes its session", async () => {
    await using user = await createBudgieUser();
    const { client } = await user.serve({ args: [...ROUTER, "--verbose"] });
    await client.listTools();
    const input = { agent: "code-reviewer", directory: user.workspace };

    const first = await client.callTool({ name: "invoke_agent", arguments: { ...input, prompt: "Hello" } });
    const { sessionId } = first.structuredContent as { sessionId: string };
    const second = await client.callTool({ name: "invoke_agent", arguments: { ...input, prompt: "Again", sessionId } });

    expect(first.structuredContent).toMatchObject({ agent: "code-reviewer", response: "You asked: Hello" });
    expect(second.structuredContent).toMatchObject({ sessionId });
  });

  it("answers an unknown agent with the known ones", async () => {
    await using user = await createBudgieUser();
    const { client, stderr } = await user.serve({ args: [...ROUTER, "--verbose"] });
    await client.listTools();

    const result = await client.callTool({
      name: "invoke_agent",
      arguments: { agent: "nobody\u001B[31m", prompt: "Hello", directory: user.workspace },
    });

    expect(result).toMatchObject({ isError: true, structuredContent: { code: "AGENT_NOT_FOUND" } });
    expect(toText({ content: [], ...result })).toContain('Known agents: "code-reviewer", "reader", "shell-worker".');
    expect(stderr()).toContain("budgie: nobody?[31m: called\n");
  });

  it("has no tools of single agents, and no health check", async () => {
    await using user = await createBudgieUser();
    const { ask } = await user.serve({ args: ROUTER });

    for (const name of ["code-reviewer", "health-check"]) {
      await expect(ask(name, { prompt: "Hello" })).rejects.toMatchObject({ code: -32602 });
    }
  });

  it("is offered in addition to the agents' tools with --tools both", async () => {
    await using user = await createBudgieUser();
    const { ask, client } = await user.serve({ args: ["--tools", "both"] });

    const { tools } = await client.listTools();
    const own = await ask("reader", { prompt: "Hello" });
    const { sessionId } = own.structuredContent as { sessionId: string };
    const routed = await client.callTool({
      name: "invoke_agent",
      arguments: { agent: "reader", prompt: "Again", directory: user.workspace, sessionId },
    });

    expect(tools.map(({ name }) => name)).toEqual([
      "invoke_agent",
      "kiro-subagents.code-reviewer",
      "kiro-subagents.health-check",
      "kiro-subagents.reader",
      "kiro-subagents.shell-worker",
      "list_agents",
    ]);
    expect(routed.structuredContent).toMatchObject({ sessionId, agent: "reader" });
  });
});
