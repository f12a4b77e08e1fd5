import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createBudgieUser } from "../helpers/start-budgie.ts";

describe("the command line", () => {
  it("accepts the options that the first budgie's orchestrators pass", async () => {
    await using user = await createBudgieUser();
    const { client, stderr } = await user.serve({ args: ["-agent-timeout", "15m", "-verbose"] });

    const { tools } = await client.listTools();

    expect(tools).toHaveLength(4);
    expect(stderr()).toContain("budgie: Serving 4 tools, isolation: none. ");
  });

  it("starts without any arguments", async () => {
    await using user = await createBudgieUser();

    const { exitCode, stderr, stdout } = await user.command([]);

    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: "" });
    expect(stderr).toContain("budgie: Serving 4 tools");
  });

  it("reads every option from a variable too, and prefers the flag", async () => {
    await using user = await createBudgieUser();
    const env = { BUDGIE_LIST_TOOLS: "true", BUDGIE_TOOL_PREFIX: "from-variable.", BUDGIE_DEBUG: "0" };

    const byVariable = await user.command([], env);
    const byFlag = await user.command(["--tool-prefix", "from-flag."], env);
    const switchedOff = await user.command(["-list-tools=false"], env);

    expect(byVariable.stdout).toContain("from-variable.code-reviewer\n");
    expect(byFlag.stdout).toContain("from-flag.code-reviewer\n");
    expect(switchedOff.stdout).toBe("");
  });

  it("prints the tools with their descriptions", async () => {
    await using user = await createBudgieUser();

    const { exitCode, stdout } = await user.command(["-list-tools"]);

    expect(exitCode).toBe(0);
    expect(stdout).toContain(
      "kiro-subagents.code-reviewer\n  Reviews code for bugs and security\n\n  Capabilities:\n  - Finds bugs\n",
    );
    expect(stdout).toContain("kiro-subagents.reader\n  Reads, and changes nothing\n\n");
  });

  it("prints everything that a client is told with --debug", async () => {
    await using user = await createBudgieUser();

    const { exitCode, stdout } = await user.command(["-debug"]);

    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toContainEqual(
      expect.objectContaining({
        name: "kiro-subagents.reader",
        inputSchema: expect.objectContaining({ required: ["prompt", "directory"] }),
      }),
    );
  });

  it("prints help, in 80 columns, and version on stdout", async () => {
    await using user = await createBudgieUser();

    const help = await user.command(["--help"]);
    const version = await user.command(["--version"]);

    expect(help).toMatchObject({ exitCode: 0, stderr: "" });
    expect(help.stdout).toMatch(/^Agents:\n +--agents-dir <dir> +where the agents' JSON files are/m);
    expect(help.stdout.split("\n").filter((line) => line.length > 80)).toEqual([]);
    expect(version).toMatchObject({ exitCode: 0, stdout: "0.1.0\n", stderr: "" });
  });

  it("prints the help text that the README shows", async () => {
    await using user = await createBudgieUser();

    const { stdout } = await user.command(["--help"]);

    expect(readFileSync(new URL("../../README.md", import.meta.url), "utf8")).toContain(`\n\`\`\`\n${stdout}\`\`\`\n`);
  });

  it.each([
    [
      ["--agent-timeout", "15"],
      'Expected --agent-timeout (or BUDGIE_AGENT_TIMEOUT) to be a duration such as "90s", "10m" or "1h30m", got "15".',
    ],
    [["--no-such-option"], `unknown option '--no-such-option'. See "budgie --help".`],
    [["--agent-timout", "1m"], `unknown option '--agent-timout' (Did you mean --agent-timeout?). See "budgie --help".`],
    [["-nosuchoption"], `unknown option '-nosuchoption'. See "budgie --help".`],
    [["serve"], 'There is no command "serve". See "budgie --help".'],
    [["doctor", "all"], `too many arguments for 'doctor'. Expected 0 arguments but got 1. See "budgie --help".`],
    [
      ["gc-volumes", "all"],
      `too many arguments for 'gc-volumes'. Expected 0 arguments but got 1. See "budgie --help".`,
    ],
    [
      ["gc-volumes", "--older-than", "soon"],
      'Expected --older-than to be a duration such as "90s", "10m" or "1h30m", got "soon".',
    ],
    [["build-image", "--build-arg", "JDK"], 'Expected --build-arg to be NAME=VALUE, got "JDK".'],
    [
      ["build-image", "--context", "/nowhere"],
      'There is no Dockerfile.sandbox in "/nowhere". Name the folder that has it with --context.',
    ],
    [
      ["--system-prompt", "/nowhere.md"],
      'There is no file "/nowhere.md" for --system-prompt. Create it, or leave the option out.',
    ],
  ])("refuses %j in one line", async (argv, message) => {
    await using user = await createBudgieUser();

    const finished = await user.command(argv);

    expect(finished).toEqual({ exitCode: 1, signal: null, stdout: "", stderr: `budgie: ${message}\n` });
  });

  it("refuses a bad value of a variable in one line", async () => {
    await using user = await createBudgieUser();

    const { exitCode, stderr } = await user.command([], { BUDGIE_SANDBOX: "perhaps" });

    expect(exitCode).toBe(1);
    expect(stderr).toBe('budgie: Expected --sandbox (or BUDGIE_SANDBOX) to be "true" or "false", got "perhaps".\n');
  });

  it("reports a bad agent file in one line, and serves the others", async () => {
    await using user = await createBudgieUser({ malformedAgent: true });
    const { client, stderr } = await user.serve();

    const { tools } = await client.listTools();

    expect(tools).toHaveLength(4);
    expect(stderr()).toContain(`budgie: Skipped the agent file "${join(user.host.agentsDir, "malformed.json")}": `);
  });

  it("refuses to start with two agents of one name, and names both", async () => {
    await using user = await createBudgieUser();
    const twin = join(user.host.agentsDir, "twin.json");
    writeFileSync(twin, JSON.stringify({ name: "Reader", description: "sub-agent: Twin" }));

    const { exitCode, stderr } = await user.command([]);

    expect(exitCode).toBe(1);
    expect(stderr).toContain(
      `budgie: The agents "reader" (${join(user.host.agentsDir, "reader.json")}) and "Reader" (${twin}) would both be`,
    );
  });

  it("warns of a tool name that some clients refuse, and keeps it", async () => {
    await using user = await createBudgieUser();
    const name = "a".repeat(50);
    writeFileSync(join(user.host.agentsDir, "long.json"), JSON.stringify({ name, description: "sub-agent: Long" }));

    const { stderr, stdout } = await user.command(["--list-tools"]);

    expect(stdout).toContain(`kiro-subagents.${name}\n`);
    expect(stderr).toContain(`budgie: The tool name "kiro-subagents.${name}" is longer than 64 characters`);
  });
});

describe("--sandbox", () => {
  it("fails at once without an engine, says what to do, and never runs without a sandbox", async () => {
    await using user = await createBudgieUser();

    const { exitCode, stderr, stdout } = await user.command(["-sandbox"], {
      DOCKER_HOST: "unix:///nowhere/docker.sock",
    });

    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
    expect(stderr).toMatch(/^budgie: .*unix:\/\/\/nowhere\/docker\.sock.*\n$/);
  });
});
