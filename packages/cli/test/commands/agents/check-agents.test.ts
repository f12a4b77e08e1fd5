import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { runCli } from "../../../src/run-cli.ts";
import { toSilentHost } from "../../helpers/to-silent-host.ts";
import { createInstallUser } from "../install/create-install-user.ts";

const FIXTURES = fileURLToPath(new URL("../../fixtures", import.meta.url));

describe("budgie agents check", () => {
  it("says of every form of agent file what budgie understands", async () => {
    const { exitCode, stdout } = await check(join(FIXTURES, "agents"));

    await expect(stdout).toMatchFileSnapshot(join(FIXTURES, "agents-check.txt"));
    expect(exitCode).toBe(1);
  });

  it.each(["kiro-2", "kiro-3", "half-upgraded"])("reads the home of %s on a terminal", async (name) => {
    const { stdout } = await check(join(FIXTURES, "agent-homes", name), { columns: 80 });

    await expect(stdout).toMatchFileSnapshot(join(FIXTURES, `agent-homes-${name}.txt`));
  });

  it.each([60, 80, 120, 200])("fits a terminal of %i columns", async (columns) => {
    const { stdout } = await check(join(FIXTURES, "agents"), { columns });

    const lines = stdout.split("\n");
    expect(lines.filter((line) => line.length > columns && line.trim().includes(" ", 40))).toEqual([]);
    expect(lines.some((line) => line.length > columns / 2)).toBe(true);
  });

  it("has colours on a terminal alone", async () => {
    const folder = join(FIXTURES, "agent-homes", "kiro-3");

    expect((await check(folder, { columns: 80, env: { TERM: "xterm" } })).stdout).toContain("\u001b[");
    expect((await check(folder)).stdout).not.toContain("\u001b");
  });

  it("prints the same as JSON", async () => {
    const { exitCode, stdout } = await check(join(FIXTURES, "agent-homes", "kiro-3"), { args: ["--json"] });

    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      problems: [],
      files: [
        { file: "mine.md", kind: "other", agent: { name: "mine", tools: ["*"] } },
        {
          file: "reviewer.md",
          kind: "agent",
          agent: {
            format: "markdown",
            name: "reviewer",
            tool: "kiro-subagents.reviewer",
            tools: ["read", "write", "shell"],
            writesFiles: true,
            servers: [],
            hooks: [],
            harnesses: { v2: "copy", v3: "wire" },
          },
        },
        { file: "team/README.md", kind: "prompt" },
        { file: "team/planner.md", agent: { tool: "kiro-subagents.team-planner", model: "claude-opus-4.5" } },
      ],
    });
  });

  it("checks one file, which it names by its place in the agents' folder", async () => {
    const folder = join(FIXTURES, "agent-homes", "kiro-3");
    const file = join(folder, "team", "planner.md");

    const inside = await check(file, { args: ["--agents-dir", folder] });
    const outside = await check(file);

    expect(inside).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining('agent    "team/planner", in Markdown'),
    });
    expect(outside.stdout).toContain('agent    "planner", in Markdown');
  });

  it("refuses what is no agent file", async () => {
    using user = createInstallUser();
    user.write(join(user.project, "a.txt"), "");

    await expect(user.run(["agents", "check", "a.txt"])).rejects.toThrow(
      /"a\.txt" is no agent file|a\.txt" is no agent/,
    );
    await expect(user.run(["agents", "check", "none"])).rejects.toThrow(/There is no file or folder ".*none"/);
    symlinkSync("loop.md", join(user.project, "loop.md"));
    await expect(user.run(["agents", "check", "loop.md"])).rejects.toThrow(/^Cannot read ".*loop\.md" \(ELOOP\)\.$/);
  });

  it("says that a file is too large, not plain, or gone, and goes on", async () => {
    using user = createInstallUser();
    const folder = join(user.project, "agents");
    user.write(join(folder, "a.md"), `---\n---\n${"x".repeat(2 ** 20)}`);
    user.write(join(folder, "z.md"), "---\ndescription: 'sub-agent: Z\u001b[2J'\ntools: ['\u202e', read]\n---\nZ");
    symlinkSync("/dev/zero", join(folder, "b.json"));
    symlinkSync("nowhere", join(folder, "c.json"));

    const { exitCode, stdout } = await user.run(["agents", "check", folder]);

    expect(exitCode).toBe(1);
    expect(stdout).toContain("problem  it is larger than 1 MiB\n");
    expect(stdout).toContain("problem  it is not a file\n");
    expect(stdout).toContain("problem  there is no such file\n");
    expect(stdout).toContain("z.md  an agent for budgie\n");
    expect(stdout.replaceAll("\n", "")).not.toMatch(/\p{C}/u);
  });

  it("says which harness cannot run an agent, and fails for the one in use", async () => {
    const file = join(FIXTURES, "agents", "guard-list.md");

    expect((await check(file)).exitCode).toBe(0);
    const v3 = await check(file, { args: ["--kiro-harness", "v3"] });
    expect(v3.exitCode).toBe(1);
    expect(v3.stdout).toContain("problem  V3 cannot run it: its hooks guard its tools");
  });
});

type Terminal = {
  readonly columns?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
};

/** Runs the command in an empty home. On a terminal it has no colours, unless the environment asks for them. */
async function check(path: string, { args = [], columns, env = { NO_COLOR: "1" } }: Terminal = {}) {
  using user = createInstallUser();
  const stdout = new PassThrough();
  const host = toSilentHost({ home: user.home, cwd: user.project, env, stdout, columns });
  const exitCode = await runCli(["agents", "check", path, ...args], host);
  return { exitCode, stdout: String(stdout.read() ?? "") };
}
