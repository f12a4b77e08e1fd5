import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createBudgieUser, toText, type BudgieUser } from "../helpers/start-budgie.ts";

const PROFILE = ["--env", "FAKE_KIRO_PROFILE"];
const V3 = [...PROFILE, "--kiro-harness", "v3"];
const start = (user: BudgieUser) => user.serve({ args: V3, env: { FAKE_KIRO_PROFILE: "v3" } });

function writeSettings({ host }: BudgieUser, servers: object): void {
  mkdirSync(join(host.home, ".kiro/settings"), { recursive: true });
  writeFileSync(join(host.home, ".kiro/settings/mcp.json"), JSON.stringify({ mcpServers: servers }));
}

describe("--kiro-harness v3", () => {
  it("has an agent answer that was sent, over ACP, without naming a protocol", async () => {
    await using user = await createBudgieUser();
    writeSettings(user, {});
    const { ask } = await start(user);

    const { structuredContent } = await ask("reader", { prompt: "[[status]] [[write began: x]]" });

    expect(structuredContent).toMatchObject({ denied: [expect.any(String)], usage: { credits: 0.01 } });
    expect((structuredContent as { response: string }).response).toMatch(/"agent":"budgie-[0-9a-f]{32}"/);
    expect(user.kiroCalls().map(({ argv }) => argv.slice(-5).join(" "))).toEqual([
      "acp --agent-engine v3 --auth-method cli",
    ]);
  });

  it("gives Kiro none of the variables that redirect it, unless --env names them", async () => {
    await using user = await createBudgieUser();
    writeSettings(user, {});
    const env = { FAKE_KIRO_PROFILE: "v3", KIRO_AGENT_ENGINE: "v2", KIRO_DATA_DIR: "/nowhere", KIRO_LOG_LEVEL: "warn" };
    const { ask } = await user.serve({ args: [...V3, "--env", "KIRO_DATA_DIR"], env });
    await ask("code-reviewer", { prompt: "Hello" });

    const [given = {}] = user.kiroCalls().map((call) => call.env);
    expect(
      Object.keys(given)
        .filter((name) => name.startsWith("KIRO_"))
        .toSorted(),
    ).toEqual(["KIRO_DATA_DIR", "KIRO_LOG_LEVEL"]);
  });

  it("keeps to the sessions of its own harness, as V2 does", async () => {
    await using user = await createBudgieUser();
    writeSettings(user, {});
    const acp = [...PROFILE, "--protocol", "acp", "--keep-sessions"];
    const env = { FAKE_KIRO_PROFILE: "v3" };
    const ids: Record<string, string> = {};
    for (const harness of ["v2", "v3"]) {
      const { ask, client, ended } = await user.start({ args: [...acp, "--kiro-harness", harness], env });
      const { structuredContent } = await ask("code-reviewer", { prompt: "Keep token-wren. [[say: I will.]]" });
      ids[harness] = (structuredContent as { sessionId: string }).sessionId;
      await client.close();
      await ended;
    }

    for (const [harness, other] of [
      ["v2", "v3"],
      ["v3", "v2"],
    ] as const) {
      const { ask, client, ended } = await user.start({ args: [...acp, "--kiro-harness", harness], env });
      const refused = toText(await ask("code-reviewer", { sessionId: ids[other], prompt: "[[recall]]" }));
      expect(refused).toContain(`INPUT_INVALID: The session was begun with --kiro-harness "${other}"`);
      expect(toText(await ask("code-reviewer", { sessionId: ids[harness], prompt: "[[recall]]" }))).toBe("token-wren");
      await client.close();
      await ended;
    }
  });

  it("refuses agents without a sandbox while Kiro's settings start budgie", async () => {
    await using user = await createBudgieUser();
    writeSettings(user, { subagents: { command: "npx", args: ["budgie-mcp"] } });
    const { ask } = await start(user);

    expect(toText(await ask("code-reviewer", { prompt: "Hello" }))).toMatch(
      /^CONFIG_INVALID: .*budgie again among them.*--kiro-harness/,
    );
    expect(user.kiroCalls()).toEqual([]);
  });

  it("says so if the program has no such harness", async () => {
    await using user = await createBudgieUser();
    writeSettings(user, {});
    const { ask } = await user.serve({ args: V3, env: { FAKE_KIRO_PROFILE: "v2" } });

    expect(toText(await ask("code-reviewer", { prompt: "Hello" }))).toMatch(
      /^CONFIG_INVALID: .*does not list Kiro's V3/,
    );
  });

  it("is refused beside another protocol, wherever that is named", async () => {
    await using user = await createBudgieUser();
    const file = join(user.host.home, "budgie.json");
    writeFileSync(file, JSON.stringify({ kiroHarness: "v3", protocol: "cli" }));
    const refused = /Expected .*protocol.* to be "acp" or left out, got "cli": .*arness.* is "v3", which needs ACP\./;

    for (const [argv, env] of [
      [["--kiro-harness", "v3", "--protocol", "cli"], {}],
      [["--kiro-harness", "v3"], { BUDGIE_PROTOCOL: "cli" }],
      [["--config", file], {}],
    ] as const) {
      const { exitCode, stderr } = await user.command(argv, env);
      expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: expect.stringMatching(refused) });
    }
    const { stdout } = await user.command(["config", "show", "--kiro-harness", "v3"]);
    expect(stdout).toMatch(/^protocol +"acp"/m);
  });
});
