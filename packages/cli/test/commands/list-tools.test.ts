import { writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { createBudgieUser } from "../helpers/start-budgie.ts";

type Cost = { readonly bytes: number; readonly tokens: number };
type Stats = {
  readonly modes: readonly { mode: string; isInUse: boolean; tools: number; answer: Cost; model: Cost }[];
  readonly listAgents: Cost;
};

describe("budgie list-tools", () => {
  it("prints the same as --list-tools and --debug", async () => {
    await using user = await createBudgieUser();

    const [text, json, oldText, oldJson] = await Promise.all(
      [["list-tools"], ["list-tools", "--json"], ["--list-tools"], ["--debug"]].map((argv) => user.command(argv)),
    );

    expect(text?.stdout).toContain("kiro-subagents.reader\n  Reads, and changes nothing\n\n");
    expect(text).toEqual(oldText);
    expect(json).toEqual(oldJson);
  });

  it("prints the names and hints that a server with the same options has", async () => {
    await using user = await createBudgieUser();
    const options = ["--sandbox", "--workspace", "ro", "--egress", "none", "--tool-names", "safe", "--tools", "both"];

    const { stdout } = await user.command(["list-tools", "--json", ...options]);

    const tools = JSON.parse(stdout) as readonly { name: string; annotations: { readOnlyHint: boolean } }[];
    expect(tools.map(({ annotations, name }) => [name, annotations.readOnlyHint])).toEqual([
      ["invoke_agent", true],
      ["kiro_subagents_code_reviewer", true],
      ["kiro_subagents_health_check", true],
      ["kiro_subagents_reader", true],
      ["kiro_subagents_shell_worker", true],
      ["list_agents", true],
    ]);
  });

  it("says of agents elsewhere that a server would refuse them with the same options", async () => {
    await using user = await createBudgieUser();
    const file = `${user.host.home}/budgie.json`;
    const url = "http://127.0.0.1:1";
    writeFileSync(
      file,
      JSON.stringify({ agents: { far: { protocol: "a2a", description: "Far.", url } }, kagent: { url } }),
    );

    const { stderr } = await user.command(["list-tools", "--config", file, "--sandbox"]);

    expect(stderr).toContain('The agents of "kagent" run elsewhere, where --sandbox does not hold them.');
    expect(stderr).toContain('The agent "far" ');
    expect(stderr).not.toContain("Cannot reach");
  });

  it.each([
    ["50s", true],
    ["auto", false],
  ])("includes the tools for long calls if every client gets them: --soft-deadline %s", async (deadline, has) => {
    await using user = await createBudgieUser();
    const options = ["--soft-deadline", deadline];
    const { client } = await user.serve({ args: options });

    const listed = await client.listTools();
    const { stdout } = await user.command(["list-tools", "--json", ...options]);

    const tools = JSON.parse(stdout) as readonly { name: string }[];
    expect(tools).toEqual(listed.tools);
    expect(tools.some(({ name }) => name === "kiro-subagents.wait")).toBe(has);
  });

  it.each(["agents", "router", "both"])(
    "--stats counts the bytes that a client receives with --tools %s",
    async (mode) => {
      await using user = await createBudgieUser();
      const { client, lines } = await user.serve({ args: ["--tools", mode] });

      const { tools } = await client.listTools();
      const stats = JSON.parse(
        (await user.command(["--tools", mode, "list-tools", "--stats", "--json"])).stdout,
      ) as Stats;

      const { result } = JSON.parse(lines.at(-1) ?? "") as { result: unknown };
      const bytes = Buffer.byteLength(JSON.stringify(result));
      expect(stats.modes.filter(({ isInUse }) => isInUse)).toEqual([
        {
          mode,
          isInUse: true,
          tools: tools.length,
          answer: { bytes, tokens: Math.ceil(bytes / 4) },
          model: { bytes: expect.any(Number), tokens: expect.any(Number) },
        },
      ]);
    },
  );

  it("--stats counts the bytes of an answer of list_agents", async () => {
    await using user = await createBudgieUser();
    const { client, lines } = await user.serve({ args: ["--tools", "router"] });

    await client.callTool({ name: "list_agents" });
    const { stdout } = await user.command(["list-tools", "--stats", "--json"]);

    const { result } = JSON.parse(lines.at(-1) ?? "") as { result: unknown };
    expect((JSON.parse(stdout) as Stats).listAgents.bytes).toBe(Buffer.byteLength(JSON.stringify(result)));
  });

  it("--stats prints a table, and how it estimates tokens", async () => {
    await using user = await createBudgieUser();

    const { stdout } = await user.command(["list-tools", "--stats"]);

    expect(stdout).toMatch(
      /^MODE +TOOLS +BYTES +TOKENS +MODEL BYTES +MODEL TOKENS\nagents +4 .* in use\nrouter +2 [\d ]+\nboth +6 /,
    );
    expect(stdout).toMatch(/estimate, at 4 bytes a token\.\n/);
    expect(stdout).toMatch(
      /\nClients with a soft deadline have wait, status and cancel besides: about [1-9]\d* tokens/,
    );
  });

  it("--stats counts agents that only a router can offer", async () => {
    await using user = await createBudgieUser();
    writeFileSync(
      `${user.host.agentsDir}/twin.json`,
      JSON.stringify({ name: "code_reviewer", description: "sub-agent: x" }),
    );

    const { exitCode, stdout } = await user.command(["list-tools", "--stats", "--tools", "router"]);

    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^agents +5 .*\nrouter +2 .* in use$/m);
  });
});
