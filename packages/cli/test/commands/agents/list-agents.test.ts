import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { startKagentServer } from "@budgie/testkit";
import { createInstallUser, type InstallUser } from "../install/create-install-user.ts";

const PROGRAM = { protocol: "acp", description: "Codes.", command: "coder" };

/** Writes two Kiro agents, one of them broken, and two agents in the configuration. */
function createAgents(user: InstallUser): readonly string[] {
  const kiros = { name: "reader", description: "sub-agent: Reads.", allowedTools: ["fs_read", "fs_write"] };
  user.write(join(user.home, "reader.json"), JSON.stringify(kiros));
  user.write(join(user.home, "torn.json"), '{ "name": "\u001b[2J');
  const limited = {
    ...PROGRAM,
    workspace: "ro",
    egress: "none",
    limits: { memory: "1g", cpus: 2, pids: 99, disk: "2g" },
    timeout: "5m",
    maxConcurrent: 1,
  };
  const agents = { limited, keyed: { ...PROGRAM, env: ["KEY"], home: { x: "gone.json" }, allowHost: ["example.com"] } };
  const file = join(user.project, "budgie.json");
  user.write(file, JSON.stringify({ sandbox: true, allowHost: ["example.com", "example.org"], agents }));
  return ["--config", file, "--agents-dir", user.home];
}

describe("budgie agents ls", () => {
  it("lists each agent with its protocol, what holds it, and its file, and marks broken ones", async () => {
    using user = createInstallUser();
    const args = createAgents(user);

    const { exitCode, stdout } = await user.run(["agents", "ls", ...args]);

    const [head, ...lines] = stdout.split("\n");
    expect(exitCode).toBe(0);
    expect(head).toMatch(/^AGENT +PROTOCOL +RESTRICTIONS +FROM$/);
    expect(lines).toEqual([
      expect.stringMatching(
        /^limited +acp +workspace ro, egress none, memory 1024m, cpus 2, pids 99, disk 2048m, timeout 5m, concurrent 1 +"agents\.limited" in \S+budgie\.json$/,
      ),
      expect.stringMatching(
        /^keyed +acp +egress to \d+ hosts +"agents\.keyed" in \S+budgie\.json +broken: not set here: KEY; not there: \S+gone\.json$/,
      ),
      expect.stringMatching(/^reader +kiro +- +\S+reader\.json$/),
      expect.stringMatching(/^- +kiro +- +\S+torn\.json +broken: .*torn\.json/),
      "",
    ]);
    expect(stdout).not.toContain("\u001b");
  });

  it("prints the same as JSON", async () => {
    using user = createInstallUser();
    const args = createAgents(user);

    const { stdout } = await user.run(["agents", "ls", "--json", ...args], { KEY: "canary" });

    const from = join(user.home, "reader.json");
    expect(JSON.parse(stdout)).toEqual([
      expect.objectContaining({ name: "limited", protocol: "acp" }),
      {
        name: "keyed",
        protocol: "acp",
        restrictions: [expect.stringMatching(/hosts$/)],
        from: expect.any(String),
        broken: expect.stringMatching(/^not there: /),
      },
      { name: "reader", protocol: "kiro", restrictions: [], from },
      expect.objectContaining({ protocol: "kiro", broken: expect.stringContaining("torn.json") }),
    ]);
    expect(stdout).not.toContain("canary");
  });

  it("shows the protocol that --protocol chooses for Kiro's agents", async () => {
    using user = createInstallUser();
    const args = createAgents(user);

    const { stdout } = await user.run(["agents", "ls", ...args, "--protocol", "acp"]);

    expect(stdout).toMatch(/^reader +acp /m);
  });

  it("marks agents whose tools clash", async () => {
    using user = createInstallUser();
    const file = join(user.project, "budgie.json");
    user.write(file, JSON.stringify({ agents: { one: PROGRAM, One: PROGRAM } }));

    const { stdout } = await user.run(["agents", "ls", "--config", file, "--agents-dir", user.home]);

    expect(stdout).toMatch(/^One .*broken: /m);
    expect(stdout).not.toMatch(/^one .*broken: /m);
  });

  it("says how to add one if there are none", async () => {
    using user = createInstallUser();

    const { exitCode, stdout } = await user.run(["agents", "ls", "--agents-dir", user.home]);

    expect({ exitCode, stdout }).toEqual({
      exitCode: 0,
      stdout: 'There are no agents. "budgie agents add" adds one.\n',
    });
  });

  it("marks agents elsewhere that a sandbox does not hold, and does not ask kagent for any", async () => {
    using user = createInstallUser();
    await using server = await startKagentServer({ agents: [{ name: "k8s" }] });
    const far = { protocol: "a2a", description: "Far.", url: "http://127.0.0.1:1" };
    const write = (sandbox: boolean): void =>
      user.write(file, JSON.stringify({ sandbox, agents: { far }, kagent: { url: server.url } }));
    const file = join(user.project, "budgie.json");
    const args = ["agents", "ls", "--config", file, "--agents-dir", user.home];

    write(true);
    const held = await user.run(args);
    const asked = server.asked();
    write(false);
    const free = await user.run(args);

    expect(held.stdout).toMatch(/^far +a2a .* broken: with --sandbox it needs "allowRemote": true$/m);
    expect(held.stdout).not.toContain("kagent.k8s");
    expect(asked).toBe(0);
    expect(free.stdout).toMatch(/^kagent\.k8s +a2a /m);
    expect(free.stdout).not.toContain("broken");
  });
});
