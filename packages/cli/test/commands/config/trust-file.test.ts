import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, it, onTestFinished } from "vitest";
import { openFileTrust } from "@budgie/core/policy";
import { checkFilesBy } from "@budgie/core/text";
import { runCli } from "../../../src/run-cli.ts";
import { toSilentHost } from "../../helpers/to-silent-host.ts";
import { createInstallUser } from "../install/create-install-user.ts";

describe("settings that a link leads to a directory where an agent could write", () => {
  it("are refused as an agent, as MCP servers and as the configuration file, each with the command that trusts them", async () => {
    const place = create();
    const agent = place.link(".kiro/agents/coder.json", "coder.json", AGENT);
    const servers = place.link(".kiro/settings/mcp.json", "mcp.json", {
      mcpServers: { far: { url: "https://x.test" } },
    });
    const config = place.link("budgie.json", "budgie.json", {});
    const list = () => place.run(["agents", "ls"]);
    expect((await list()).stdout).toMatch(/^coder /m);

    place.note();

    expect((await list()).all).toContain(`At a terminal, "budgie config trust ${agent}" shows and trusts it`);
    await expect(place.run(["agents", "ls", "--config", join(place.home, "budgie.json")])).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining(`"budgie config trust ${config}" shows and trusts it`),
    });
    const certificates = place.link("ca.pem", "ca.pem", {});
    await expect(place.run(["agents", "ls", "--ca-file", join(place.home, "ca.pem")])).rejects.toThrow(
      `"budgie config trust ${certificates}" shows and trusts it`,
    );
    // It must not choose what it is checked by.
    const free = place.link("free.json", "free.json", { stateDir: "../../free" });
    await expect(place.run(["agents", "ls", "--config", free])).rejects.toThrow("where agents could write");
    expect(await place.trust(agent)).toMatchObject({ exitCode: 0 });
    expect((await list()).stdout).toMatch(/^coder /m);
    const listServers = () => place.run(["mcp", "ls", "--agent", "coder"]);
    await expect(listServers()).rejects.toThrow(`"budgie config trust ${servers}" shows and trusts it`);
    for (const file of [servers, config]) expect(await place.trust(file)).toMatchObject({ exitCode: 0 });
    expect((await listServers()).stdout).toMatch(/^coder +far +not-allowed/m);
    expect((await place.run(["agents", "ls", "--config", config])).exitCode).toBe(0);
  });
});

describe("budgie config trust", () => {
  it("shows the file, so that nothing in it acts on the terminal, and trusts what it showed", async () => {
    const place = create();
    const file = place.link(".kiro/agents/coder.json", "coder.json", { ...AGENT, prompt: "Hi \u001b[2J" });
    place.note();

    const { stdout } = await place.trust(file);

    expect(stdout).toBe(
      `The file "${file}"\nlies in "${place.project}", where agents could write.\n\n` +
        `${readFileSync(file, "utf8")}\n\nTrust it until it changes? [y/N] Trusted.\n`,
    );
    expect(stdout).not.toContain("\u001b");
  });

  it("trusts nothing without a yes, without a terminal, or where no agent could write", async () => {
    const place = create();
    const file = place.link(".kiro/agents/coder.json", "coder.json", AGENT);
    expect((await place.trust(file)).stdout).toBe(`No agent could write "${file}": there is nothing to trust.\n`);
    place.note();

    expect(await place.trust(file, "no")).toMatchObject({
      exitCode: 1,
      stdout: expect.stringMatching(/Not trusted\.\n$/),
    });
    await expect(place.run(["config", "trust", file])).rejects.toMatchObject({
      code: "INPUT_INVALID",
      message: `Only a person can trust the file "${file}": run this command at a terminal, without pipes.`,
    });
    expect((await place.run(["agents", "ls"])).stdout).not.toMatch(/^coder /m);
  });
});

const AGENT = { name: "coder", description: "sub-agent: Codes.", prompt: "Code.", includeMcpJson: true };

function create() {
  const user = createInstallUser();
  onTestFinished(() => {
    user[Symbol.dispose]();
    checkFilesBy(undefined);
  });
  const { home, project } = user;

  async function run(argv: readonly string[], more: { readonly answer?: string } = {}) {
    // Each command is a process of its own, which has read its configuration before it can check anything.
    checkFilesBy(undefined);
    const [stdin, stdout] = [new PassThrough(), new PassThrough()];
    const reports: string[] = [];
    if (more.answer !== undefined) stdin.end(`${more.answer}\n`);
    const terminal = more.answer === undefined ? {} : { stdinIsTerminal: true, columns: 80 };
    const report = (line: string): void => void reports.push(line);
    const exitCode = await runCli(argv, toSilentHost({ home, cwd: project, stdin, stdout, report, ...terminal }));
    const printed = String((stdout.read() as Buffer | null) ?? "");
    return { exitCode, stdout: printed, all: [printed, ...reports].join("\n").replaceAll(/\s+/g, " ") };
  }

  return {
    home,
    project,
    run,
    trust: (file: string, answer = "y") => run(["config", "trust", file], { answer }),
    note: () => openFileTrust(join(home, ".local/state/budgie"), String).note(project),
    /** Writes a file into the project, and a link to it into the home. Returns the file's path. */
    link(from: string, to: string, content: object): string {
      const [link, file] = [join(home, from), join(project, to)];
      user.write(file, JSON.stringify(content));
      mkdirSync(dirname(link), { recursive: true });
      symlinkSync(file, link);
      return file;
    },
  };
}
