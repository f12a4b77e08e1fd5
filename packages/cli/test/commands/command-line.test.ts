import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { OPTION_KEYS, optionFacts } from "../../src/options/config-schema.ts";
import { toFlag } from "../../src/options/format-option-name.ts";
import { runProgram } from "../../src/run-program.ts";
import { toSilentHost } from "../helpers/to-silent-host.ts";
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

  it.each([[["--help"]], [["-h"]], [["-help"]], [["help"]]])(
    "prints help that fits on a screen of 80 columns for %j",
    async (argv) => {
      await using user = await createBudgieUser();

      const { exitCode, stderr, stdout } = await user.command(argv);

      const lines = stdout.split("\n");
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
      expect(lines.length).toBeLessThanOrEqual(50);
      expect(lines.filter((line) => line.length > 80)).toEqual([]);
      expect(stdout).toMatch(/^Set up:\n {2}init +set budgie up, up to a first answer$/m);
    },
  );

  it.each([[["serve", "--help"]], [["help", "serve"]]])("prints the options of the server for %j", async (argv) => {
    await using user = await createBudgieUser();

    const { exitCode, stderr, stdout } = await user.command(argv);

    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).toMatch(/^Agents:\n +--agents-dir <dir> +where the agents' files are/m);
    const shown = OPTION_KEYS.filter((key) => stdout.includes(`  ${toFlag(key)} `));
    expect(shown).toEqual(OPTION_KEYS.filter((key) => optionFacts(key).visibility === undefined));
    expect(stdout.split("\n").filter((line) => line.length > 80)).toEqual([]);
  });

  it.each([
    [["runs"], "There is no turn in the run log yet.\n"],
    [["agents"], "AGENT "],
    [["mcp"], "No agent's file names an MCP server.\n"],
    [["egress"], "code-reviewer"],
    [["sessions"], ""],
    [["runs", "--help"], "Usage: budgie runs "],
    [["egress", "--help"], "Usage: budgie egress "],
    [["help", "runs", "ls"], "Usage: budgie runs ls "],
    [["gc", "--help"], "Usage: budgie gc|gc-volumes "],
    [["version"], "0.1.0\n"],
    [["--version"], "0.1.0\n"],
  ])("answers %j on stdout", async (argv, beginning) => {
    await using user = await createBudgieUser();

    const { exitCode, stderr, stdout } = await user.command(argv);

    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout.startsWith(beginning)).toBe(true);
  });

  it("prints the help text that the README shows", async () => {
    await using user = await createBudgieUser();

    const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");

    for (const argv of [["--help"], ["serve", "--help"]]) {
      const { stdout } = await user.command(argv);
      expect(readme).toContain(`\n\`\`\`\n${stdout}\`\`\`\n`);
    }
  });

  it.each([
    [
      ["--agent-timeout", "15"],
      'Expected --agent-timeout (or BUDGIE_AGENT_TIMEOUT) to be a duration such as "90s", "10m" or "1h30m", got "15".',
    ],
    [["--no-such-option"], `Unknown option '--no-such-option'. See "budgie serve --help".`],
    [
      ["--agent-timout", "1m"],
      `Unknown option '--agent-timout'. Did you mean --agent-timeout? See "budgie serve --help".`,
    ],
    [["-nosuchoption"], `Unknown option '-nosuchoption'. See "budgie serve --help".`],
    [["dotcor"], 'There is no command "dotcor". Did you mean "doctor"? See "budgie --help".'],
    [["serve", "agents"], 'The server takes no "agents". See "budgie serve --help".'],
    [["doctor", "all"], `Too many arguments for 'doctor'. Expected 0 arguments but got 1. See "budgie doctor --help".`],
    [["gc-volumes", "all"], `Too many arguments for 'gc'. Expected 0 arguments but got 1. See "budgie gc --help".`],
    [
      ["gc-volumes", "--older-than", "soon"],
      'Expected --older-than to be a duration such as "90s", "10m" or "1h30m", got "soon".',
    ],
    ...["BAD TAG", "Upper", "a:", "-a", "a/", "a@sha256:0", ""].map((tag): [string[], string] => [
      ["build-image", "--tag", tag],
      `Expected --tag to be the name of an image in lower case, such as "budgie-sandbox:latest", got "${tag}".`,
    ]),
    [["build-image", "--build-arg", "JDK"], 'Expected --build-arg to be NAME=VALUE, got "JDK".'],
    [
      ["build-image", "--context", "/nowhere"],
      'There is no Dockerfile.sandbox or Dockerfile in "/nowhere". Name the folder that has one with --context.',
    ],
    [
      ["--system-prompt", "/nowhere.md"],
      'There is no file "/nowhere.md" for --system-prompt (or BUDGIE_SYSTEM_PROMPT). Create it, or leave the option out.',
    ],
  ])("refuses %j in one line", async (argv, message) => {
    await using user = await createBudgieUser();

    const finished = await user.command(argv);

    expect(finished).toEqual({ exitCode: 2, signal: null, stdout: "", stderr: `budgie: ${message}\n` });
  });

  it("refuses a bad value of a variable in one line", async () => {
    await using user = await createBudgieUser();

    const { exitCode, stderr } = await user.command([], { BUDGIE_SANDBOX: "perhaps" });

    expect(exitCode).toBe(2);
    expect(stderr).toBe('budgie: Expected --sandbox (or BUDGIE_SANDBOX) to be "true" or "false", got "perhaps".\n');
  });

  it("reports a bad agent file in one line, and serves the others", async () => {
    await using user = await createBudgieUser({ malformedAgent: true });
    const { client, stderr } = await user.serve();

    const { tools } = await client.listTools();

    expect(tools).toHaveLength(4);
    expect(stderr()).toContain(`budgie: Skipped the agent file "${join(user.host.agentsDir, "malformed.json")}": `);
  });

  it("leaves out the second of two agents of one name, and names both", async () => {
    await using user = await createBudgieUser();
    const twin = join(user.host.agentsDir, "twin.json");
    writeFileSync(twin, JSON.stringify({ name: "Reader", description: "sub-agent: Twin" }));

    const { exitCode, stderr, stdout } = await user.command(["list-tools"]);

    expect(exitCode).toBe(0);
    expect(stdout.match(/reader/gi)).toHaveLength(1);
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

describe("the server on a terminal", () => {
  it.each([[[]], [["serve"]]])("says for %j what it waits for, and serves", async (argv) => {
    await using user = await createBudgieUser();
    const stdin = new PassThrough();
    const lines: string[] = [];
    const place = { home: user.host.home, cwd: user.workspace };
    const ended = new Promise((resolve) => {
      const report = (line: string): void => void lines.push(line);
      const host = toSilentHost({ ...place, stdin, stdinIsTerminal: true, report, exit: resolve });
      void runProgram(argv, host).then(resolve);
    });

    stdin.end();

    expect(await ended).toBe(0);
    expect(lines[0]).toContain("waits on stdin for an MCP client");
    expect(lines[1]).toContain('"budgie install CLIENT"');
    expect(lines.at(-1)).toContain("Serving 4 tools");
  });
});

describe("--sandbox", () => {
  it("fails at once without an engine, says what to do, and never runs without a sandbox", async () => {
    await using user = await createBudgieUser();

    const { exitCode, stderr, stdout } = await user.command(["-sandbox"], {
      DOCKER_HOST: "unix:///nowhere/docker.sock",
    });

    expect({ exitCode, stdout }).toEqual({ exitCode: 3, stdout: "" });
    expect(stderr).toMatch(/^budgie: .*unix:\/\/\/nowhere\/docker\.sock.*\n$/);
  });
});
